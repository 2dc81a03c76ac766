"""Text as agents and papers write it: made harmless, cut into blocks, sentences and clauses, spans kept.

Every step keeps positions: characters are replaced one for one, never removed, so a span found in the
cleaned text is the span in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from firetrial_judge import lexicon
from firetrial_judge.verdict import Span

MAX_CHARS = 200_000
"""Longer texts are cut: a conclusion of this length is an attack or a log."""

_JOIN_FROM = 50  # a line at least this long that ends without punctuation was wrapped by its writer

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ud800-\udfff\ufff0-\uffff\U000e0000-\U000e0fff]"
)
_FENCE = re.compile(r"\s*(```|~~~)")
_BULLET = re.compile(r"\s*(?:>\s*)*(?:[-*+•‣◦▪–—]\s+|\(?\d{1,3}[.)]\s+|\(?[a-z][.)]\s+)?")
_HAS_BULLET = re.compile(r"\s*(?:>\s*)*(?:[-*+•‣◦▪–—]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+")
_HASHES = re.compile(r"\s*#{1,6}\s+")
_RULE = re.compile(r"\s*[|:\-=_*\s+]+$")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_INLINE_BULLET = re.compile(r"\s[-–•]\s")


class Form(StrEnum):
    """What a block of text is."""

    PROSE = "prose"
    ITEM = "item"
    HEADING = "heading"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item, heading or table row: its form and its span without marks."""

    form: Form
    start: int
    end: int


def clean(text: str) -> str:
    """At most MAX_CHARS characters; control, invisible and undecodable ones become spaces, one for one."""
    return _HARMFUL.sub(" ", text[:MAX_CHARS].replace("\x0c", "\n"))


def blocks(text: str) -> list[Block]:
    """Cut cleaned text into blocks in reading order; fenced code is left out."""
    found: list[Block] = []
    open_block: Block | None = None
    for start, end in _lines(text):
        line = text[start:end]
        block = _line_block(line, start)
        if open_block is not None and block is not None and _continues(text, open_block, block, line):
            open_block = Block(open_block.form, open_block.start, block.end)
            continue
        if open_block is not None:
            found.append(open_block)
        open_block = block
    if open_block is not None:
        found.append(open_block)
    return found


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line outside code fences."""
    start, fenced = 0, False
    for line in text.split("\n"):
        end = start + len(line)
        if _FENCE.match(line):
            fenced = not fenced
            yield end, end
        elif not fenced:
            yield start, end
        start = end + 1


def _line_block(line: str, offset: int) -> Block | None:
    if not line.strip() or _RULE.match(line):
        return None
    if _ROW.match(line):
        return Block(Form.ROW, offset, offset + len(line.rstrip()))
    hashes = _HASHES.match(line)
    bullet = _BULLET.match(line)
    begin = hashes.end() if hashes else bullet.end() if bullet else 0
    form = Form.HEADING if hashes else Form.ITEM if _HAS_BULLET.match(line) else Form.PROSE
    if form is not Form.HEADING and is_heading(line[begin:]):
        form = Form.HEADING
    return Block(form, offset + begin, offset + len(line.rstrip()))


def is_heading(line: str) -> bool:
    """A short line that ends with a colon, or one that is all bold."""
    bare = line.strip()
    bold = len(bare) > 4 and bare[:2] == bare[-2:] and bare[:2] in {"**", "__"} and bare.count(bare[:2]) == 2
    short = len(bare.split()) <= 8
    return short and (bold or bare.rstrip("*_ ").endswith(":"))


def _continues(text: str, previous: Block, block: Block, line: str) -> bool:
    """A wrapped line belongs to the paragraph or item before it."""
    if block.form is not Form.PROSE or previous.form not in {Form.PROSE, Form.ITEM}:
        return False
    before = text[previous.start : previous.end]
    if before.endswith(("!", "?", ":", ";")) or (before.endswith(".") and not _abbreviated(before)):
        return False
    if text[previous.end : block.start].count("\n") > 1:
        return False
    last_line = before.rsplit("\n", 1)[-1]
    return len(last_line) >= _JOIN_FROM or line.lstrip()[:1].islower()


# Sentences

_ABBREVIATIONS = frozenset(lexicon.ABBREVIATIONS.split())
_NUMBERED = frozenset(lexicon.BEFORE_NUMBERS.split())
_MAY_END = frozenset(lexicon.MAY_END.split())
_STOP = re.compile(r"[.!?。！？]+[\"'”’)\]*_]*(?=\s|$)")
_SYMBOL = re.compile(r"[a-z]\s?[=<>≤≥]")  # "k = 45 is worse" opens a sentence in lower case
_LAST_TOKEN = re.compile(r"[^\s(\[\"'“‘]+$")


def sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Spans of the sentences in `text[start:end]`, robust to abbreviations, decimals and flattened lists."""
    end = len(text) if end is None else end
    spans: list[Span] = []
    for part in _inline_items(text, start, end):
        begin = part.start
        for stop in _STOP.finditer(text, part.start, part.end):
            if _ends_sentence(text, begin, stop, part.end):
                spans.append(Span(begin, stop.end()))
                begin = stop.end()
        spans.append(Span(begin, part.end))
    return [trimmed for span in spans if (trimmed := trim(text, span)).start < trimmed.end]


def _inline_items(text: str, start: int, end: int) -> list[Span]:
    """A list flattened into one line, "Results - a - b - c", is cut at its dashes."""
    cuts = [m for m in _INLINE_BULLET.finditer(text, start, end) if _depth(text, start, m.start()) == 0]
    if len(cuts) < 2:
        return [Span(start, end)]
    edges = [start, *(m.end() for m in cuts)]
    stops = [*(m.start() for m in cuts), end]
    return [Span(a, b) for a, b in zip(edges, stops, strict=True)]


def _depth(text: str, start: int, at: int) -> int:
    """How many round brackets opened in `text[start:at]` are still open (a closing one alone counts not)."""
    opened = text.count("(", max(start, at - 400), at)
    return max(0, opened - text.count(")", max(start, at - 400), at))


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    rest = text[stop.end() : min(end, stop.end() + 40)].lstrip()
    if not rest:
        return True
    if stop.group()[0] != ".":
        return True
    if _abbreviated(text[begin : stop.start() + 1], rest):
        return False
    return (not rest[0].islower() or bool(_SYMBOL.match(rest))) and _depth(text, begin, stop.start()) == 0


def _abbreviated(before: str, rest: str = "x") -> bool:
    """Whether the full stop that ends `before` belongs to an abbreviation, given the text after it."""
    token = _LAST_TOKEN.search(before[:-1])
    if token is None:
        return False
    word = token.group().lower().rstrip(".")
    if word in _NUMBERED:
        return rest[0].isdigit()
    if word in _ABBREVIATIONS:
        return word not in _MAY_END or not rest[0].isupper()
    return len(word) == 1 and word.isalpha() and token.group().isupper() and word != "i"


def trim(text: str, span: Span) -> Span:
    """The span without white space and list marks at its ends."""
    start, end = span.start, span.end
    while start < end and (text[start].isspace() or text[start] in "*_•"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_"):
        end -= 1
    return Span(start, end)


def units(text: str) -> list[Span]:
    """Every sentence of cleaned text, of all blocks, in reading order: what evidence can point at."""
    found: list[Span] = []
    for block in blocks(text):
        if block.form is Form.ROW:
            found.append(Span(block.start, block.end))
        elif block.form is not Form.HEADING:
            found += sentences(text, block.start, block.end)
    return found


_CITATION = re.compile(
    r"\s*(?:\((?:see |cf\. )?(?:tables?|tab\.|figures?|figs?\.|sections?|sec\.|appendix|eq\.)[^()]{0,60}\)|"
    r"\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\])",
    re.IGNORECASE,
)


def uncited(sentence: str) -> str:
    """Without what only points elsewhere: "(Table 1)", "[12, 13]"."""
    return _CITATION.sub("", sentence)
