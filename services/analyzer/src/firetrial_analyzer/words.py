"""Words of a claim, and how much of one claim is in another. English, no model."""

import re

WORD = re.compile(r"[a-z0-9]+(?:[.'’-][a-z0-9]+)*%?")

_FUNCTION_WORDS = frozenset(
    WORD.findall(
        """
        a about above after again against all also although always am among an and another any are as at be
        because been before being below between both but by can cannot could did do does doing done down
        during each either else ever every few for from further had has have having hence here how however
        if in instead into is it its itself just less lot many may might more most mostly much must near
        neither never no none nor not of off often on once one only onto or other our out over own per quite
        rather same several shall she should since so some sometimes still such than that the their them
        then there therefore these they this those though through thus to too toward towards under unless
        until up upon us usually very was we were what when whenever where whereas whether which while who
        whom whose why will with within without would yet you your
        """
    )
)
_SUFFIXES = ("ations", "ation", "ities", "ity", "ings", "ing", "edly", "ed", "ies", "ly", "es", "s", "e", "y")


def tokens(text: str) -> list[str]:
    """Lower-case words and numbers, in order; a hyphen parts words but not a name with digits (gpt-4)."""
    found = WORD.findall(text.lower())
    return [part for word in found for part in (word.split("-") if _is_plain(word) else [word])]


def stem(word: str) -> str:
    """Cuts one common ending where at least three letters stay; numbers and names with digits stay whole."""
    if not _is_plain(word):
        return word
    word = word.removesuffix("'s").removesuffix("’s")
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word.removesuffix(suffix)
    return word


def content(text: str) -> frozenset[str]:
    """Stems of the words that are not mere grammar, numbers included."""
    return frozenset(stem(word) for word in tokens(text) if word not in _FUNCTION_WORDS)


def topic(text: str) -> frozenset[str]:
    """`content` without bare numbers: two texts are not on one topic because both say 5."""
    return frozenset(word for word in content(text) if any(letter.isalpha() for letter in word))


def share(part: frozenset[str], whole: frozenset[str]) -> float:
    """The part of `part` that lies in `whole`, 0 to 1; 0 for an empty part."""
    return len(part & whole) / len(part) if part else 0.0


def dice(left: frozenset[str], right: frozenset[str]) -> float:
    """Dice's coefficient 2|A and B| / (|A| + |B|), 0 to 1; 0 for two empty sets."""
    size = len(left) + len(right)
    return 2 * len(left & right) / size if size else 0.0


def _is_plain(word: str) -> bool:
    return not any(letter.isdigit() for letter in word)
