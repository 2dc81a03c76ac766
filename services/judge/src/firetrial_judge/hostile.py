"""An agent's conclusion made safe to judge: what speaks to the judge instead of about findings is taken out.

A conclusion is data, but the model that reads it may not know. So sentences that address the judge, ask for a
verdict, imitate its format, close its fences or hide themselves are replaced by spaces, one for one, so that
every span stays true; the fact is flagged. The rest is judged as it stands: a manipulation costs an agent
nothing but what it was written for, and is told to the readers of the score.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from firetrial_judge import text as texts
from firetrial_judge.manipulation import CHAT, FENCE, reason
from firetrial_judge.verdict import Span

MANIPULATION = "judge_manipulation"
_SHOWN = 60  # characters of a sentence that is told
_BETWEEN = 4000  # characters between two imitated fences that belong to them
_MOST_TOLD = 5
_MOST_CHARS = 2000  # of one line that are searched at a time
_HIDDEN_FROM = 4  # hidden characters; fewer come from word processors

# Letters that look like Latin ones; Greek that formulas use (μ, Δ, α) is left alone.
_TWINS = str.maketrans(
    "аеорсухіјѕһԁԛԝАВЕЗКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοιν",
    "aeopcyxijshdqwABE3KMHOPCTYXIJSABEZHIKMNOPTYXoiv",
)
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
)
_WORD = re.compile(r"\w+")
# Emoji are drawn in colour, and joined to one, by characters that hide nothing.
_EMOJI = re.compile("(?<=[0-9#*\u2190-\u2bff\U0001f000-\U0001faff])(?:[\ufe0e\ufe0f]\u200d?|\u200d)")

_ENCODED = re.compile(
    r"(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{0,200}[a-z])(?=[A-Za-z0-9+/]{0,200}[A-Z])[A-Za-z0-9+/]{48,}={0,2}"
)
_COMMENT = re.compile(r"<!--.{0,4000}?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Screened:
    """A text of the same length as its source (up to `text.MAX_CHARS`), what was wrong, and in words."""

    text: str
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def screen(source: str) -> Screened:
    """Take out of a conclusion what is meant for its judge. Any string is taken; twice is as once."""
    cut = source[: texts.MAX_CHARS]
    found: list[str] = []
    if hidden(cut):
        found.append("holds hidden characters")
    visible = texts.clean(cut)
    folded = fold(visible)
    if _disguised(visible, folded):
        found.append("holds letters of other scripts that look Latin")
    blanked = list(folded)
    for span, why in _manipulations(cut, folded):
        shown = " ".join(folded[span.start : span.end].split())[:_SHOWN]
        found.append(f"{why}: {shown!r}")
        blanked[span.start : span.end] = [c if c == "\n" else " " for c in folded[span.start : span.end]]
    return Screened("".join(blanked), (MANIPULATION,) if found else (), _notes(found))


def hidden(text: str) -> bool:
    """Whether characters that nobody sees stand in a text, more than a word processor leaves there."""
    return not text.isascii() and len(_HIDDEN.findall(_EMOJI.sub("", text))) >= _HIDDEN_FROM


def unhidden(text: str) -> str:
    """A text without the characters that nobody sees."""
    return text if text.isascii() else _HIDDEN.sub("", text)


def _notes(found: list[str]) -> tuple[str, ...]:
    told = [f"a passage {why}" if ":" in why else f"the text {why}" for why in found[:_MOST_TOLD]]
    more = len(found) - len(told)
    return (*told, f"{more} more passages are meant for the judge") if more else tuple(told)


def fold(text: str) -> str:
    """Full-width and mathematical letters, and look-alikes in words that are partly Latin, as plain Latin."""
    plain = "".join(map(_narrow, text)) if not text.isascii() else text
    return _WORD.sub(lambda match: _untwinned(match.group()), plain) if not plain.isascii() else plain


def _narrow(char: str) -> str:
    if char.isascii() or not ("\uff01" <= char <= "\uff5e" or "\U0001d400" <= char <= "\U0001d7ff"):
        return char
    narrow = unicodedata.normalize("NFKC", char)
    return narrow if len(narrow) == 1 and narrow.isascii() else char


def _untwinned(word: str) -> str:
    if word.isascii():
        return word
    latin = word.translate(_TWINS)
    return latin if latin.isascii() and len(word) > 1 else word


def _disguised(visible: str, folded: str) -> bool:
    """Whether Latin words hold look-alikes; a lone Greek or Cyrillic word that looks Latin is no disguise."""
    if visible == folded:
        return False
    mixed = (
        word.group()
        for word in _WORD.finditer(visible)
        if not word.group().isascii() and any(c.isascii() and c.isalpha() for c in word.group())
    )
    return any(word.translate(_TWINS).isascii() for word in mixed)


def _manipulations(source: str, text: str) -> Iterator[tuple[Span, str]]:
    """Spans to take out, in order, and why."""
    for match in _COMMENT.finditer(text):
        if why := reason(match.group()):
            yield Span(*match.span()), why
    for match in _ENCODED.finditer(text):
        yield Span(*match.span()), "is encoded"
    edges: list[Span] = []
    for span in _sentences(text):
        shown = fold(unhidden(source[span.start : span.end]))
        if why := reason(text[span.start : span.end]) or reason(shown):
            yield span, why
            if why in {CHAT, FENCE}:
                edges.append(span)
    for before, after in pairwise(edges):  # what stands between imitated fences is what they were written for
        if after.start - before.end <= _BETWEEN and text[before.end : after.start].strip():
            yield Span(before.end, after.start), "stands between imitated fences"


def _sentences(text: str) -> Iterator[Span]:
    """The sentences of every line, code and tables included: an attack may stand anywhere."""
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        for at in range(start, end, _MOST_CHARS):
            yield from texts.sentences(text, at, min(at + _MOST_CHARS, end))
        start = end + 1
