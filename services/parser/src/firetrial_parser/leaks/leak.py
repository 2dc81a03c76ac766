"""What must not stand in the public part of a task, looked for by words.

Names and addresses that find the paper, phrases of it, how the finding was reached, and sentences that say a
finding again in nearly its own words. Whether a finding follows from what is said otherwise is the judge's to
say: see `checking`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from re import Pattern

from firetrial_parser.document import Document
from firetrial_parser.leaks.coined import coined_names
from firetrial_parser.leaks.names import paper_patterns
from firetrial_parser.leaks.passages import Passage, passages, units
from firetrial_parser.leaks.restating import Restated
from firetrial_parser.leaks.runs import prose_phrases, shared_runs
from firetrial_parser.prose import phrases

PHRASE_WORDS = 8


class LeakKind(StrEnum):
    """What a sentence gives away; the names are those of the contract."""

    FINDING = "FINDING"
    FINDING_PHRASE = "FINDING_PHRASE"
    METHOD = "METHOD"
    TITLE = "TITLE"
    AUTHOR = "AUTHOR"
    ADDRESS = "ADDRESS"
    PAPER_PHRASE = "PAPER_PHRASE"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, slots=True)
class Leak:
    """A sentence of the public part, and the words in it that give something away where it is words.

    It holds nothing of the secret part that the public part does not hold.
    """

    kind: LeakKind
    sentence: str
    words: str = ""

    def __str__(self) -> str:
        told = f" ({self.words!r})" if self.words and self.words != self.sentence else ""
        return f"{_NAMED[self.kind]}{told}: {self.sentence}"


_NAMED = {
    LeakKind.FINDING: "says a finding",
    LeakKind.FINDING_PHRASE: "has words of a finding",
    LeakKind.METHOD: "tells how the finding was reached",
    LeakKind.TITLE: "has the paper's title",
    LeakKind.AUTHOR: "names an author",
    LeakKind.ADDRESS: "has the paper's id or address",
    LeakKind.PAPER_PHRASE: "has a phrase by which the paper is found",
    LeakKind.UNDECIDED: "could not be judged",
}

Phrases = AbstractSet[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Secrets:
    """What would give a paper or its findings away."""

    names: tuple[tuple[LeakKind, Pattern[str]], ...] = ()
    taken: tuple[tuple[LeakKind, Phrases], ...] = ()
    restated: tuple[tuple[LeakKind, Restated], ...] = ()

    @classmethod
    def of(
        cls, document: Document, findings: Sequence[str], method: Sequence[str], published: Sequence[str] = ()
    ) -> Secrets:
        """The secrets of a task made from a paper.

        `method` are the sentences of the leaf that say how the finding was reached; `published` is what the
        paper itself gives out as question and scope.
        """
        free: Phrases = set().union(*(phrases(text, PHRASE_WORDS) for text in published))
        own = coined_names(document, [*findings, *method], published)
        return cls(
            names=(
                *(
                    (LeakKind(kind), pattern)
                    for kind, pattern in paper_patterns(document)
                    if not any(pattern.search(text) for text in published)
                ),
                *((LeakKind.METHOD, pattern) for pattern in own),
            ),
            taken=(
                *_taken(LeakKind.FINDING_PHRASE, findings),
                *((kind, found - free) for kind, found in _taken(LeakKind.METHOD, method)),
                (LeakKind.PAPER_PHRASE, prose_phrases(document, PHRASE_WORDS) - free),
            ),
            restated=(*_restated(LeakKind.FINDING, findings), *_restated(LeakKind.METHOD, method)),
        )

    @classmethod
    def of_findings(cls, findings: Sequence[str]) -> Secrets:
        """The secrets of a task whose paper is not at hand."""
        return cls(
            taken=tuple(_taken(LeakKind.FINDING_PHRASE, findings)),
            restated=tuple(_restated(LeakKind.FINDING, findings)),
        )

    def leaks(self, text: str) -> list[Leak]:
        """Each sentence that gives something away, and what; at most one of a kind each sentence."""
        found = [*self._named(text), *self._shared(text), *self._said_again(text)]
        return list({(leak.kind, leak.sentence): leak for leak in reversed(found)}.values())[::-1]

    def given_away_by(self, text: str) -> bool:
        """Whether a text gives anything away."""
        return bool(self.leaks(text))

    def scrub(self, text: str) -> str:
        """The text without the sentences that give something away."""
        return " ".join(unit.text for unit in units(text) if not self.given_away_by(unit.text))

    def _named(self, text: str) -> Iterator[Leak]:
        for kind, pattern in self.names:
            for match in pattern.finditer(text):
                yield Leak(kind, around(text, match.start(), match.end()), _line(match[0]))

    def _shared(self, text: str) -> Iterator[Leak]:
        for kind, taken in self.taken:
            for start, end in shared_runs(text, taken, PHRASE_WORDS):
                yield Leak(kind, around(text, start, end), _line(text[start:end]))

    def _said_again(self, text: str) -> Iterator[Leak]:
        read: list[Passage] = list(passages(text)) if self.restated else []
        for kind, secret in self.restated:
            yield from (Leak(kind, passage.text) for passage in read if secret.said_in(passage.text))


def _taken(kind: LeakKind, texts: Sequence[str]) -> Iterator[tuple[LeakKind, Phrases]]:
    if found := phrases(" ".join(texts), PHRASE_WORDS):
        yield kind, found


def _restated(kind: LeakKind, texts: Sequence[str]) -> Iterator[tuple[LeakKind, Restated]]:
    yield from ((kind, restated) for text in texts if (restated := Restated.of(text)).telling)


def around(text: str, start: int, end: int) -> str:
    """The sentences of a text that a span touches, in one line."""
    touched = [unit.text for unit in units(text) if unit.start < end and unit.end > start]
    return " ".join(touched) or _line(text[start:end])


def _line(text: str) -> str:
    return " ".join(text.split())
