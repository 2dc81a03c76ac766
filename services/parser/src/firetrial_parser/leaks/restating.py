"""Whether a text says a sentence again with most of its words, in any order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firetrial_parser.findings import effects

SHARE = 0.75  # of the secret sentence's content words
LEAST_WORDS = 5  # content words; a shorter sentence is said again by chance

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
_ENDING = re.compile(r"(?:ations?|ings?|edly|ed|ies|ness|ment|ly|es|s|e)$")
_OPEN = re.compile(r"(?i)\?\s*$|\bwhether\b|^(?:how|what|why|which|when|where|who|do|does|is|are|can)\b")
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """a an the of in on at to for from by with without and or but as is are was were be been being that
        this these those it its they their them we our us you your he she i which when where who whom whose
        whether than then so if do does did has have had can could may might will would should shall must not
        no nor also both each all any some more most such only very even still while into over under about
        between across per via there here how what why find finds found show shows shown see observe observes
        result results study paper experiment experiments""",
    )
)


@dataclass(frozen=True, slots=True)
class Restated:
    """A sentence as what it is made of: stems of content words, numbers, words that say the effect."""

    stems: frozenset[str]
    numbers: frozenset[str]
    effects: frozenset[str]

    @classmethod
    def of(cls, sentence: str) -> Restated:
        said = frozenset(stem for word in effects(sentence) for stem in _stems(word))
        return cls(_stems(sentence), frozenset(_NUMBER.findall(sentence)), said)

    @property
    def telling(self) -> bool:
        """Whether there is enough of it to be recognised."""
        return len(self.stems) >= LEAST_WORDS

    def said_in(self, passage: str) -> bool:
        """Whether a passage says it: `SHARE` of its words, its numbers, and an effect where it has one.

        A question says nothing.
        """
        if _OPEN.search(passage):
            return False
        there = _stems(passage)
        if len(self.stems & there) < SHARE * len(self.stems):
            return False
        if self.effects and not self.effects & there:
            return False
        return self.numbers <= frozenset(_NUMBER.findall(passage))


def _stems(text: str) -> frozenset[str]:
    parts = (part for word in _WORD.findall(text.lower()) for part in word.split("-"))
    return frozenset(_stem(word) for word in parts if word not in _EMPTY and len(word) > 1)


def _stem(word: str) -> str:
    return _ENDING.sub("", word) if len(word) > 4 else word
