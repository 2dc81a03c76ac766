"""Normal forms of words: spelling folded, endings cut, phrases joined, synonyms grouped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from firetrial_judge import lexicon

_TOKEN = re.compile(
    r"\d[\d,]*(?:\.\d+)?(?:-?[A-Za-z]+(?:-[A-Za-z]+)*)?%?|[A-Za-z][A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*(?:['’]t)?"
)
_POSSESSIVE = re.compile(r"['’]s\b")
# A bound of a number is no comparison and no direction; `quantities` reads it.
_LIMIT = re.compile(
    r"\b(?:(?:more|fewer|less|larger|higher|lower) than|exceed(?:s|ed|ing)?|below|above)\s+(?:an? |the )?"
    rf"(?=[-$]?\d|(?:{'|'.join(lexicon.NUMBERS.split())}|half|twenty|thirty|forty|fifty|hundred)\b)",
    re.IGNORECASE,
)
_OUR = re.compile(r"(behavi|col|fav|neighb|lab|hon|hum|rum|vig)our")
_ISE = re.compile(r"is(e|es|ed|er|ers|ing|ation|ations)$")
_REALLY_S = re.compile(
    r"(prom|prec|exerc|ra|prem|comprom|expert|rev|superv|adv|otherw|likew|surpr|compr|no|r|w)is"
)
_IRREGULAR = {
    "rose": "rise", "risen": "rise", "fell": "fall", "fallen": "fall", "grew": "grow", "grown": "grow",
    "made": "make", "gave": "give", "held": "hold", "kept": "keep", "lost": "lose", "losing": "lose",
    "beaten": "beat", "won": "win", "chose": "choose", "chosen": "choose", "shown": "show",
    "people": "person", "led": "lead", "began": "begin", "left": "leave", "did": "do", "further": "more",
    "analyses": "analysis", "hypotheses": "hypothesis", "indices": "index", "can't": "cannot",
    "preferred": "prefer", "preferring": "prefer", "transferred": "transfer", "transferring": "transfer",
    "brought": "bring", "spent": "spend", "took": "take", "taken": "take", "told": "tell", "came": "come",
    "slept": "sleep", "paid": "pay", "inferred": "infer", "goes": "go", "went": "go", "gone": "go",
}  # fmt: skip
_NOMINAL = frozenset({"ent", "ence", "ant", "ance", "al", "ic", "ity"})
_ENDINGS = sorted(lexicon.ENDINGS.split(), key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence: as written, folded to lower case, and the stem it is compared by."""

    written: str
    folded: str
    stem: str
    opens: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it names one thing: GPT-4, ImageNet, BERT, or a capital inside a sentence."""
        rest = self.written[1:]
        if self.stem.startswith("="):
            return True
        if not self.written[0].isalpha():
            return False
        if any(c.isupper() or c.isdigit() for c in rest):
            return len(self.written) > 1
        return not self.opens and self.written[0].isupper() and len(self.written) > 1


@cache
def fold(word: str) -> str:
    """Lower case, American spelling, irregular forms made regular."""
    low = _OUR.sub(r"\1or", word.lower().replace("’", "'"))
    if low.endswith("n't") and low != "can't":
        return "not"
    if _ISE.search(low) and len(low) > 6 and not _REALLY_S.match(low):
        low = _ISE.sub(r"iz\1", low)
    return _IRREGULAR.get(low, low.replace("yse", "yze"))


@cache
def stem(word: str) -> str:
    """What the inflections of a folded word share; endings leave at least four letters of it."""
    if any(c.isdigit() for c in word):
        return word
    base = word
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "su":
        base = word[:-3] + "y" if word.endswith("ies") and len(word) > 5 else word[:-1]
    for _ in range(2):  # "prevented", "preventing" and "prevent" must meet, though "ent" is an ending too
        ending = next((e for e in _ENDINGS if base.endswith(e) and len(base) - len(e) >= _least(e)), "")
        base = base.removesuffix(ending) if ending else base
    if len(base) > 4 and base[-1] == base[-2] and base[-1] not in "aeious":
        base = base[:-1]
    return base[:-1] if len(base) > 4 and base[-1] in "eyi" else base


def _least(ending: str) -> int:
    """Letters that must be left: a "student" does not "study"."""
    return 5 if ending in _NOMINAL else 4


def stems(text: str) -> frozenset[str]:
    """The stems of a lexicon entry's words."""
    return frozenset(stem(fold(word)) for word in text.split())


_PHRASES = {
    tuple(stem(fold(w)) for w in phrase.split()): joined for phrase, joined in lexicon.PHRASES.items()
}
_LONGEST = max(len(key) for key in _PHRASES)
_GROUPS: dict[str, set[int]] = {}
for _number, _line in enumerate(lexicon.SYNONYMS.strip().splitlines()):
    for _stem in stems(_line):
        _GROUPS.setdefault(_stem, set()).add(_number)
_OPPOSITES = {frozenset(stems(line)) for line in lexicon.OPPOSITES.strip().splitlines()}


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[Word, ...]:
    """The words of a sentence with phrases joined; numbers are left to `quantities`."""
    return tuple(_joined(list(_tokens(text))))


def _tokens(text: str) -> Iterator[Word]:
    opens = True
    for match in _TOKEN.finditer(_LIMIT.sub(" ", _POSSESSIVE.sub(" ", text))):
        for part in _parts(match.group()):
            folded = fold(part)
            if len(part) == 1 and part.isupper() and part != "I" and not opens:
                yield Word(part, folded, f"={folded}")  # "catalyst A" is no article
            else:
                yield Word(part, folded, stem(folded), opens)
            opens = False


def _parts(token: str) -> list[str]:
    """A hyphenated word as its words, unless it names something (GPT-3.5-Turbo); numbers are dropped."""
    if token[0].isdigit():
        return [part for part in token.split("-")[1:] if part]
    if "-" not in token or any(c.isdigit() for c in token) or sum(c.isupper() for c in token) > 2:
        return [token]
    return [part for part in token.split("-") if part]


def _joined(tokens: list[Word]) -> Iterable[Word]:
    at = 0
    while at < len(tokens):
        for size in range(min(_LONGEST, len(tokens) - at), 1, -1):
            joined = _PHRASES.get(tuple(t.stem for t in tokens[at : at + size]))
            if joined is not None:
                yield Word(joined, joined, stem(joined), tokens[at].opens)
                at += size
                break
        else:
            yield tokens[at]
            at += 1


def same(a: str, b: str) -> bool:
    """Whether two stems are equal or stand in one group of synonyms."""
    return a == b or not _GROUPS.get(a, _NONE).isdisjoint(_GROUPS.get(b, _NONE))


def opposite(a: str, b: str) -> bool:
    """Whether two stems are listed as opposites."""
    return frozenset((a, b)) in _OPPOSITES


_NONE: frozenset[int] = frozenset()
