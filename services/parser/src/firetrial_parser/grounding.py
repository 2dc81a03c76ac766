"""How much of what a tree states its paper supports: the grounded share.

A statement is a sentence of a description or conclusion, or a clause of one, that says something by itself.
Without a judge it is supported where the paper has it in its words (see `quoting`), or where one passage has
all its numbers, most of its content words, a negation if it has one, and goes up or down where it does. Words
alone cannot tell more; what they leave open a judge may find entailed by the nearest passages.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from firetrial_parser.document import Document
from firetrial_parser.entailment import Entails, Verdict
from firetrial_parser.numerals import Numerals, numbers
from firetrial_parser.prose import flat, sentences
from firetrial_parser.quoting import quoted
from firetrial_parser.tree import Grounding, Node

WORDS = "words"
SHARED = 0.7  # of a statement's content words and numbers, for a passage that supports it
LEAST = 3  # content words and numbers; less says nothing that could be supported
NEAREST = 3  # passages that a judge is shown for each statement
SHOWN = 200_000  # characters of passages in one question to the judge
ASKED = 200  # statements in one question to the judge

_CLAUSE = re.compile(r";\s+|,?\s+(?:while|whereas)\s+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_NEGATION = re.compile(r"\b(?:not?|never|none|neither|nor|without|cannot)\b|n['’]t\b")
_WAYS = {
    "up": re.compile(
        r"\b(?:increas|ris(?:e|ing)|rose|grow|grew|higher|larger|greater|improv|better|outperform|gain)"
    ),
    "down": re.compile(
        r"\b(?:decreas|fall|fell|drop|declin|lower|smaller|worse|degrad|reduc|shrink|underperform)"
    ),
}
_STEM = 6  # letters of a word that count: "increases" and "increasing" are one
_STOP = frozenset(
    re.findall(
        r"\w+",
        """the and for are was were been being has have had with from that this these those than
        then them they their its his her our your into onto over under about above below after
        before between both each all any some such very more most less least other another also
        only just even still yet but when where which who whose what how why can could may
        might will would shall should must does did done not nor use used using based per via
        upon there here one two three""",
    )
)


def statements(root: Node) -> list[str]:
    """The atomic statements of a tree, each once."""
    texts = (text for node in root.walk() for text in (node.description, node.conclusion))
    parts = (clause for text in texts for sentence in sentences(text) for clause in _clauses(sentence))
    return list(dict.fromkeys(parts))


def _clauses(sentence: str) -> Iterator[str]:
    parts = [part.strip() for part in _CLAUSE.split(sentence)]
    if any(_weight(part) < LEAST for part in parts):
        parts = [sentence]  # a clause that cannot stand alone
    yield from (part for part in parts if _weight(part) >= LEAST)


def _weight(text: str) -> int:
    return len(_content(text)) + sum(1 for _ in numbers(text))


def _content(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _STOP)


@dataclass(frozen=True, slots=True)
class _Passage:
    text: str
    words: frozenset[str]
    numerals: Numerals
    negated: bool
    ways: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Passage:
        return cls(text, _content(text), Numerals(text), _negated(text), _ways(text))


class Ground:
    """A paper's passages for look-ups: paragraphs, captions with their tables, title and abstract."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._passages = [_Passage.of(text) for text in dict.fromkeys(_passages(document)) if text.strip()]
        self._holding: dict[str, list[int]] = {}
        for index, passage in enumerate(self._passages):
            for word in passage.words:
                self._holding.setdefault(word, []).append(index)

    def supports(self, statement: str) -> bool:
        """Whether the paper says it, as far as words tell."""
        wanted, told = _content(statement), sum(1 for _ in numbers(statement))
        enough = SHARED * (len(wanted) + told) - told
        return any(
            count >= enough and _agree(self._passages[index], statement)
            for index, count in self._shared(wanted).items()
        ) or (quoted(statement, self._document).page > 0)

    def nearest(self, statement: str) -> list[int]:
        """The passages that share most words with a statement, the nearest first."""
        return [index for index, _ in self._shared(_content(statement)).most_common(NEAREST)]

    def text(self, indices: Sequence[int]) -> str:
        """Passages as one text, in the order of the paper, as many as a judge is shown."""
        told = "\n\n".join(self._passages[index].text for index in sorted(set(indices)))
        return told[:SHOWN]

    def _shared(self, wanted: frozenset[str]) -> Counter[int]:
        return Counter(index for word in wanted for index in self._holding.get(word, ()))


def _agree(passage: _Passage, statement: str) -> bool:
    ways = _ways(statement)
    return (
        (passage.negated or not _negated(statement))
        and (not ways or bool(ways & passage.ways))
        and not passage.numerals.missing(statement)
    )


def _negated(text: str) -> bool:
    return _NEGATION.search(flat(text)) is not None


def _ways(text: str) -> frozenset[str]:
    """Which ways a text goes: up, down, both or neither."""
    words = text.lower()
    return frozenset(way for way, pattern in _WAYS.items() if pattern.search(words))


def _passages(document: Document) -> Iterator[str]:
    yield from (document.title, document.abstract)
    tables = {table.label: table for table in document.tables}
    for caption in document.captions:
        table = tables.get(caption.label)
        cells = " ".join(cell for row in table.rows for cell in row) if table else ""
        yield f"{caption.label}: {caption.text} {cells}"
    yield from (paragraph for section in document.sections for paragraph in section.paragraphs)


def grounded(root: Node, document: Document) -> Grounding:
    """The share by words alone."""
    ground, stated = Ground(document), statements(root)
    return Grounding(sum(map(ground.supports, stated)), len(stated), WORDS)


async def grounded_by(root: Node, document: Document, judge: Entails) -> Grounding:
    """The share by words, and by a judge for what they do not settle. Raises as `judge.entail` does."""
    ground, stated = await asyncio.to_thread(Ground, document), statements(root)
    open_ = await asyncio.to_thread(lambda: [s for s in stated if not ground.supports(s)])
    supported, by = len(stated) - len(open_), WORDS
    for at in range(0, len(open_), ASKED):
        asked = open_[at : at + ASKED]
        premise = ground.text([index for statement in asked for index in ground.nearest(statement)])
        rulings = await judge.entail(premise, asked, atomic=False)
        entailed = {ruled.hypothesis for ruled in rulings.ruled if ruled.verdict is Verdict.ENTAILED}
        supported, by = supported + len(entailed), f"{WORDS} and judge {rulings.judge[:12]}"
    return Grounding(supported, len(stated), by)
