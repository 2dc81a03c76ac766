"""Sentences cut into the single findings that they join, without a parser: by their joints and verbs."""

from __future__ import annotations

import re

from firetrial_judge import lexicon
from firetrial_judge.words import Word, fold, stems, words

_MIN_WORDS = 3
_JOINT = re.compile(
    r"\s*;\s+"
    r"|,?\s+(?:while|whereas|although|though)\s+"
    r"|\s*,\s+(?:and|but|yet)\s+"
    r"|\s+but\s+"
    r"|\s+and\s+"
    r"|\s*,\s+"
)
_NOUN_END = re.compile(r"(?:ing|ment|ion|ence|ance|ness|ity|or|er|ive|al)s?$")
_AMBIGUOUS = stems(lexicon.VERB_OR_NOUN)
_AUXILIARY = frozenset(lexicon.AUXILIARY.split())
_VERBS = stems(lexicon.VERBS)


def finite(word: Word) -> bool:
    """Whether a word can be the verb of a clause: an auxiliary, or a known verb without a noun's end."""
    return word.folded in _AUXILIARY or (word.stem in _VERBS and not _NOUN_END.search(word.folded))


def findings(sentence: str) -> list[str]:
    """The clauses of a sentence that can stand alone; a shared subject is given to each.

    "A improves X and lowers Y, while B does not" gives "A improves X", "A lowers Y", "B does not"; a
    sentence that cannot be cut comes back whole. Clauses without a verb of their own are not cut off.
    """
    pieces: list[str] = []
    rest = sentence
    searched = 0
    while joint := _JOINT.search(rest, searched):
        left, right = rest[: joint.start()].strip(), rest[joint.end() :].strip()
        shared = _shared_subject(left, right)
        own = _stands_alone(right, joint.group().strip())
        if _inside_brackets(rest, joint.start()) or not _stands(left) or not (shared or own):
            searched = joint.end()
            continue
        pieces.append(left)
        rest, searched = (f"{shared} {right}" if shared else right), 0
    return [*pieces, rest.strip()] if pieces else [sentence]


def _inside_brackets(text: str, at: int) -> bool:
    return text.count("(", 0, at) > text.count(")", 0, at)


def _stands(clause: str) -> bool:
    """A subject and a verb, and enough words to say something."""
    found = words(clause)
    if len(found) < _MIN_WORDS or fold(found[0].written) in _SUBORDINATE:
        return False
    return any(finite(word) for word in found[1:])


def _stands_alone(clause: str, joint: str) -> bool:
    """Whether what follows a joint has a subject and a verb of its own.

    After a comma alone nothing does; after a bare "and", which mostly joins nouns, the verb must come soon
    and be no word that is as often a noun.
    """
    if joint == "," or not _stands(clause):
        return False
    found = words(clause)
    if finite(found[0]) or found[0].folded.endswith("ing"):
        return False
    if joint != "and":
        return True
    near = words(re.split(r"[,;:]|\b(?:that|which|where|who)\b", clause, maxsplit=1)[0])[1:7]
    return any(finite(word) and word.stem not in _AMBIGUOUS for word in near)


def _shared_subject(left: str, right: str) -> str:
    """The subject of `left`, where `right` starts with a verb and so lacks one; else the empty string."""
    following = words(right[:80])
    if len(following) < 2:
        return ""
    skip = following[0].folded in _ADVERBS or following[0].folded.endswith("ly")
    opener = following[1] if skip else following[0]
    if not finite(opener):
        return ""
    for match in re.finditer(r"[A-Za-z][\w’'-]*", left):
        found = words(match.group())
        if match.start() > 0 and len(found) == 1 and finite(found[0]):
            if not _same_form(found[0], opener):
                return ""
            return _ADVERB_END.sub("", left[: match.start()].strip().rstrip(","))
    return ""


def _same_form(verb: Word, other: Word) -> bool:
    """Two verbs of one subject agree: "improves … and lowers", "reduce … and increase"."""
    if {verb.folded, other.folded} & _AUXILIARY:
        return True
    return (verb.written[-1] == "s") == (other.written[-1] == "s")


_ADVERB_END = re.compile(r"\s+\w+ly$")
_ADVERBS = frozenset(lexicon.ADVERBS.split())
_SUBORDINATE = frozenset(lexicon.SUBORDINATE.split())
