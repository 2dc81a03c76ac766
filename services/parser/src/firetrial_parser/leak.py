"""What must not stand in the public part of a task, and how it is kept out.

Thin by intent: words and phrases. Whether a finding is entailed by the public part is the judge's to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from firetrial_parser.document import Document
from firetrial_parser.prose import flat, phrases, sentences, shares_phrase

PHRASE_WORDS = 8
TITLE_WORDS = 4  # shorter titles are common words

_REF = r"(?:Fig(?:ure|\.)?|Tab(?:le|\.)?)s?\.?"
_LABEL = re.compile(rf"\s*\((?:see\s+)?(?:also\s+)?{_REF}\s*[^()]{{0,40}}\)", re.IGNORECASE)
_LEAD = re.compile(
    rf"^(?:(?:as\s+)?(?:\w+\s+)?in\s+)?{_REF}\s*\w+(?:\s*\([^()]*\))?,?\s*"
    r"(?:(?:we\s+)?(?:shows?|see|finds?|observe|reveals?|demonstrates?|indicates?|suggests?)\s+that\s+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What would give a paper or its findings away: phrases, and names looked for as they stand."""

    taken: AbstractSet[tuple[str, ...]]
    names: tuple[str, ...]

    @classmethod
    def of(cls, document: Document, truth: str, method: str) -> Secrets:
        """The secrets of a task: the findings, the way there (`method`), and who wrote it where."""
        title = document.title if len(document.title.split()) >= TITLE_WORDS else ""
        authors = [author for author in document.authors if " " in author]
        names = [flat(name) for name in (title, *authors, document.arxiv_id) if name]
        taken = phrases(truth, PHRASE_WORDS) | phrases(method, PHRASE_WORDS)
        return cls(taken, tuple(names))

    def given_away_by(self, text: str) -> bool:
        """Whether a text holds an eight-word phrase of the secret part, or a name that finds the paper."""
        flattened = flat(text)
        return any(name in flattened for name in self.names) or shares_phrase(text, self.taken, PHRASE_WORDS)

    def scrub(self, text: str) -> str:
        """The text without the sentences that give something away."""
        return " ".join(s for s in sentences(text) if not self.given_away_by(s))


def without_labels(texts: Iterable[str]) -> list[str]:
    """Findings without "(Table 1)" and "As Figure 2 shows, …": they are judged without the paper at hand."""
    return [_without_label(text) for text in texts]


def _without_label(text: str) -> str:
    text = re.sub(r"\s+([.,;])", r"\1", _LABEL.sub("", text)).strip()
    lead = _LEAD.match(text)
    # Without "that" or a comma the label is the sentence's subject, which must stay.
    if lead is None or not lead[0].rstrip().endswith((",", "that")):
        return text
    rest = text[lead.end() :]
    return rest[:1].upper() + rest[1:]
