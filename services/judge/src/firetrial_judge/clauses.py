"""Sentences cut into the single findings that they join, without a parser: by their joints and verbs."""

from __future__ import annotations

import re

from firetrial_judge import lexicon
from firetrial_judge.words import Word, fold, stems, words

_MIN_WORDS = 3
_COLON = re.compile(r"(?<=[\w)%]):\s+(?=\S)")
_DIGIT = re.compile(r"\d")
_PRONOUN = re.compile(r"(?:its?|they|their|this|these)\b", re.IGNORECASE)
_JOINT = re.compile(
    r"\s*;\s+"
    r"|,?\s+(?:while|whereas|although|though)\s+"
    r"|\s*,\s+(?:and|but|yet)\s+"
    r"|\s+but\s+"
    r"|\s+and\s+"
    r"|\s*,\s+"
)
_POSSESSIVE = re.compile(r"(?:its|their)\s+", re.IGNORECASE)
_SETTING = re.compile(r"(?:with|without|at|on|for|in|under|across)\s[^,;:]{2,60},\s+(?=\S)", re.IGNORECASE)
_SYMBOLIC = re.compile(r"[A-Za-z]{1,12}\s*=\s*\d")
_PRICE = re.compile(r",?\s+(?:but )?at (?:the|a) (?:cost|expense|price) of\s+(?=\S)")
_SPARED = re.compile(
    r",?\s+without\s+(?=(?:chang|affect|harm|hurt|reduc|increas|improv|degrad|sacrific|lower|rais|alter)ing\s)"
)
_MEANWHILE = re.compile(r",?\s+while\s+(?=\w+ing\s)")
_NOUN_END = re.compile(r"(?:ing|ment|ion|ence|ance|ness|ity|or|er|ive|al)s?$")
_AMBIGUOUS = stems(lexicon.VERB_OR_NOUN)
_AUXILIARY = frozenset(lexicon.AUXILIARY.split())
_VERBS = stems(lexicon.VERBS)
_BASE_FORMS = frozenset(lexicon.VERBS.split())


def finite(word: Word) -> bool:
    """Whether a word can be the verb of a clause: an auxiliary, or a known verb without a noun's end."""
    if word.folded in _AUXILIARY or word.folded.removesuffix("s") in _BASE_FORMS:
        return True
    return word.stem in _VERBS and not _NOUN_END.search(word.folded)


def findings(sentence: str) -> list[str]:
    """The clauses of a sentence that can stand alone; a shared subject is given to each.

    "A improves X and lowers Y, while B does not" gives "A improves X", "A lowers Y", "B does not"; a
    sentence that cannot be cut comes back whole. Clauses without a verb of their own are not cut off.
    """
    setting = _SETTING.match(sentence)
    if setting:  # "With 40% noise, A loses 3 and B loses 5": said of both
        rest = sentence[setting.end() :]
        parts = findings(rest)
        return [sentence] if len(parts) == 1 else [setting.group() + part for part in parts]
    pieces: list[str] = []
    head, tail = _elaboration(sentence)
    if tail:
        return [*findings(head), *findings(tail)]
    head, tail = _aside(sentence)
    if tail:
        return [*findings(head), tail]
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
        rest, searched = (f"{shared} {right}" if shared else _with_noun(left, right)), 0
    return [*pieces, rest.strip()] if pieces else [sentence]


def _elaboration(sentence: str) -> tuple[str, str]:
    """A finding and what a colon adds to it, "k = 1 suffers most: its accuracy halves".

    The second may be empty. A pronoun that opens it is given its noun, so that it can be read alone.
    """
    colon = _COLON.search(sentence)
    if colon is None or not _stands(sentence[: colon.start()]) or _inside_brackets(sentence, colon.start()):
        return sentence, ""
    head, tail = sentence[: colon.start()], sentence[colon.end() :]
    if not any(finite(word) for word in words(tail)) and not _DIGIT.search(tail):
        return sentence, ""
    subject = _subject(head)
    if not subject or not _PRONOUN.match(tail):
        return head, tail
    opener = words(subject.split(maxsplit=1)[0])
    plain = bool(opener) and not opener[0].is_name
    return head, f"For {subject[0].lower() if plain else subject[0]}{subject[1:]}, {tail}"


def _with_noun(left: str, right: str) -> str:
    """ "its outputs are less diverse" read alone needs what "its" stands for."""
    subject = _subject(left) if _POSSESSIVE.match(right) else ""
    return f"{subject}'s {_POSSESSIVE.sub('', right)}" if subject else right


def _aside(sentence: str) -> tuple[str, str]:
    """A finding and what is said of its price, "…, at the cost of 3 points", "… without lowering recall"."""
    for pattern, verb in ((_PRICE, "loses"), (_SPARED, "is not"), (_MEANWHILE, "is")):
        found = pattern.search(sentence)
        if found is None or not _stands(sentence[: found.start()]):
            continue
        head = sentence[: found.start()]
        subject = _subject(head)
        if subject:
            return head, f"{subject} {verb} {sentence[found.end() :].strip()}"
    return sentence, ""


def _subject(clause: str) -> str:
    """What stands before the first verb; empty where there is none."""
    for match in re.finditer(r"[A-Za-z][\w’'-]*", clause):
        found = words(match.group())
        if match.start() > 0 and len(found) == 1 and finite(found[0]):
            return _ADVERB_END.sub("", clause[: match.start()].strip().rstrip(","))
    return ""


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
    if (joint == "," and not _SYMBOLIC.match(clause)) or not _stands(clause):
        return False
    if _SYMBOLIC.match(clause):  # "k = 5 loses 13 points, k = 15 loses 1"
        return True
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
    verb = next((word for word in words(left)[1:] if finite(word)), None)
    return _subject(left) if verb is not None and _same_form(verb, opener) else ""


def _same_form(verb: Word, other: Word) -> bool:
    """Two verbs of one subject agree: "improves … and lowers", "reduce … and increase"."""
    if {verb.folded, other.folded} & _AUXILIARY:
        return True
    return (verb.written[-1] == "s") == (other.written[-1] == "s")


_ADVERB_END = re.compile(r"\s+\w+ly$")
_ADVERBS = frozenset(lexicon.ADVERBS.split())
_SUBORDINATE = frozenset(lexicon.SUBORDINATE.split())
