"""Whether a text says a sentence again with most of its words, in any order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firetrial_parser.leaks.passages import asks_openly

SHARE = 0.75  # of the secret sentence's content words
LEAST_WORDS = 4  # content words; a shorter sentence is said again by chance

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
_ENDING = re.compile(r"(?:ations?|ions?|ings?|edly|ed|ies|ness|ment|ly|es|s|e)$")
_UP = re.compile(
    r"(?i)\b(?:high\w*|better|best|more|(?<!at )most|larg\w+|great\w+|strong\w*|increas\w+|improv\w+"
    r"|ris(?:e|es|ing)|rose|gr[eo]w\w*|gain\w*|peak\w*|boost\w*|help\w*|exceed\w*|outperform\w*|beats?|surpass\w*|superior|amplif\w+"
    r"|up|above|fast\w*|reach(?:es|ed)|benefit\w*|over-?\w*)\b"
)
_DOWN = re.compile(
    r"(?i)\b(?:low\w*|worse\w*|worst|less|fewe\w+|small\w*|weak\w*|decreas\w+|declin\w+|degrad\w+|drop\w*|fall\w*|fell"
    r"|reduc\w+|shrink\w*|los(?:e|es|s|ing)|lost|hurt\w*|harm\w*|halv\w+|fails?|failed|short|poor\w*|suffers?|costs?"
    r"|down|below|slow\w*|under-?\w*|deteriorat\w+|inferior)\b"
)
_NONE = re.compile(
    r"(?i)\b(?:not?|never|none|neither|nor|cannot|hardly|barely|little|same|equal\w*|unchanged|independent\w*|unaffected"
    r"|similar\w*|comparabl\w+|within)\b|n't\b"
)
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """a an the of in on at to for from by with without and or but as is are was were be been being that
        this these those it its they their them we our us you your he she i which when where who whom whose
        whether than then so if do does did has have had can could may might will would should shall must not
        no nor also both each all any some more most such only very even still while into over under about
        between across per via there here how what why find finds found show shows shown see observe observes
        result results study paper experiment experiments one
        another often other others same each""",
    )
)


@dataclass(frozen=True, slots=True)
class Restated:
    """A sentence as what it is made of: stems of content words, numbers, and which way it goes."""

    stems: frozenset[str]
    numbers: frozenset[str]
    ways: frozenset[str]

    @classmethod
    def of(cls, sentence: str) -> Restated:
        return cls(_stems(sentence), frozenset(_NUMBER.findall(sentence)), _ways(sentence))

    @property
    def telling(self) -> bool:
        """Whether there is enough of it to be recognised."""
        return len(self.stems) >= LEAST_WORDS

    def said_in(self, passage: str) -> bool:
        """Whether a passage says it: `SHARE` of its words, its numbers, and one of its ways where it has any.

        A question that leaves the answer open says nothing.
        """
        if asks_openly(passage):
            return False
        if len(self.stems & _stems(passage)) < SHARE * len(self.stems):
            return False
        if self.ways and not self.ways & _ways(passage):
            return False
        return self.numbers <= frozenset(_NUMBER.findall(passage))


def _ways(text: str) -> frozenset[str]:
    ways = {"up": _UP, "down": _DOWN, "none": _NONE}
    return frozenset(way for way, pattern in ways.items() if pattern.search(text))


def _stems(text: str) -> frozenset[str]:
    """Of content words; which way things go is told apart, since that has most synonyms."""
    rest = _UP.sub(" ", _DOWN.sub(" ", _NONE.sub(" ", text))).lower()
    parts = (part for word in _WORD.findall(rest) for part in word.split("-"))
    return frozenset(_stem(word) for word in parts if word not in _EMPTY and len(word) > 1)


def _stem(word: str) -> str:
    return _ENDING.sub("", word) if len(word) > 4 else word
