"""From blocks in reading order to title, authors, sections and captions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_parser import headings
from firetrial_parser.captions import split_caption
from firetrial_parser.document import Caption, Section
from firetrial_parser.filling import Filling
from firetrial_parser.front import authors, title_blocks, unnamed_abstract
from firetrial_parser.glyphs import Line
from firetrial_parser.layout import Block
from firetrial_parser.prose import alphabetic_share, join_lines, vocabulary_of
from firetrial_parser.referenced import references
from firetrial_parser.style import SMALL, Style

_TOC_ENTRY = re.compile(r".*(?:\s?\.){4,}\s*\d*$|.*\S\s+\d{1,3}$")

LARGER = 1.05  # a heading without a number, among headings with numbers, is set larger than the body

Headings = dict[int, tuple[str, int]]  # index of a block → title and level; level 0 is not known yet


@dataclass(frozen=True, slots=True)
class Structure:
    """What the layout of a paper tells: the parts of a `Document` that a reader must find."""

    title: str
    authors: tuple[str, ...]
    abstract: str
    sections: tuple[Section, ...]
    captions: tuple[Caption, ...]
    references: tuple[str, ...]


def structure(blocks: Sequence[Block]) -> Structure:
    """Read the structure off all blocks of a document, given page by page in reading order."""
    style = Style.of(blocks)
    vocabulary = vocabulary_of(line.text for b in blocks for line in b.lines)
    found = _headings(blocks, style)
    title_at = title_blocks(blocks, style, _first_section(blocks, found))
    filling = Filling(style, vocabulary)
    filling.fill(blocks, found, title_at)
    lines = sorted((line for i in title_at for line in blocks[i].lines), key=lambda t: (-round(t.y), t.x0))
    return Structure(
        title=join_lines((line.text for line in lines), vocabulary),
        authors=authors(filling.front),
        abstract=_abstract(filling.sections) or unnamed_abstract(filling.front),
        sections=filling.sections,
        captions=filling.captions,
        references=references(filling.entries, vocabulary),
    )


def _first_section(blocks: Sequence[Block], found: Headings) -> int:
    telling = (i for i, (text, _) in found.items() if headings.numbered(text) or headings.is_named(text))
    return min(telling, default=len(blocks))


def _abstract(sections: Sequence[Section]) -> str:
    named = (s for s in sections if s.title.lower() in {"abstract", "summary"} and s.text)
    return next((" ".join(s.paragraphs) for s in named), "")


def _headings(blocks: Sequence[Block], style: Style) -> Headings:
    """Index of block → (title, level)."""
    candidates = [i for i, b in enumerate(blocks) if _could_be_heading(b, style)]
    found = _numbered(blocks, candidates)
    faces = frozenset(_face(blocks[i].lines[0]) for i in found)
    for i in candidates:
        text = blocks[i].text
        if i in found:
            continue
        if headings.is_named(text):
            found[i] = (text.rstrip(".:"), 1)
        elif _stands_out(blocks, i, style, faces):
            found[i] = (text, 0)
    return _with_levels(_whole(found, blocks), blocks)


def _whole(found: Headings, blocks: Sequence[Block]) -> Headings:
    """Put the second line of a long heading back to its first."""
    out: Headings = {}
    for i, (title, level) in sorted(found.items()):
        above, here = blocks[i - 1], blocks[i]
        near = above.page == here.page and 0 < above.lines[-1].y - here.top < 1.6 * here.lines[0].top_size
        if i - 1 in out and not level and near and _face(above.lines[0]) == _face(here.lines[0]):
            out[i - 1] = (f"{out[i - 1][0]} {title}", out[i - 1][1])
            out[i] = ("", 0)
        else:
            out[i] = (title, level)
    return out


def _could_be_heading(block: Block, style: Style) -> bool:
    text = block.text
    named = headings.is_named(text) and text[0].isupper() and block.size >= SMALL * style.body
    return (
        len(block.lines) <= 3
        and len(text) <= headings.MAX_HEADING_CHARS
        and (style.strong(block) or named or _strong_number(block, style))
        and split_caption(text) is None
        and not text.endswith((",", ";"))
    )


def _strong_number(block: Block, style: Style) -> bool:
    """Whether a block begins in bold with a number of several parts; names in it may be in another face."""
    number = headings.numbered(block.text)
    bold = block.lines[0].bold_head and block.lines[0].bold > 0.5
    return number is not None and number.level > 1 and bold and block.size >= SMALL * style.body


def _numbered(blocks: Sequence[Block], candidates: Sequence[int]) -> Headings:
    contents = {blocks[i].page for i in candidates if blocks[i].text.lower() in headings.NOT_PROSE}
    numbers: list[tuple[int, headings.Number]] = []
    for i in candidates:
        number = headings.numbered(blocks[i].text)
        if number and not (blocks[i].page in contents and _TOC_ENTRY.match(number.title)):
            numbers.append((i, number))
    chain = headings.longest_chain([number for _, number in numbers])
    return {i: (blocks[i].text, number.level) for k, (i, number) in enumerate(numbers) if k in chain}


def _stands_out(blocks: Sequence[Block], i: int, style: Style, faces: frozenset[tuple[str, int]]) -> bool:
    """Whether a line without number or known name is a heading: in their face, above prose, at its edge."""
    block, text = blocks[i], blocks[i].text
    below = next((b for b in blocks[i + 1 : i + 2] if b.page == block.page), None)
    if below is None or not style.prose(below) or below.top > block.top:
        return False
    if block.lines[-1].x1 > below.x1 - style.body:
        return False  # a full line: the bold beginning of a paragraph
    if not text[:1].isupper() or alphabetic_share([text]) < 0.8 or text.endswith(".") or text.count(" ") > 14:
        return False
    if faces:  # a bold line of the body's size is the head of a box or a run-in, where headings have numbers
        fits = _face(block.lines[0]) in faces and block.lines[0].top_size >= LARGER * style.body
    else:
        fits = block.size >= 0.97 * style.body
    return fits and abs(block.x0 - below.x0) < 2 * style.body


def _with_levels(found: Headings, blocks: Sequence[Block]) -> Headings:
    """Give headings without a number the level of a numbered one of their size, else rank them by size."""
    by_size: dict[int, int] = {}
    for i, (title, level) in found.items():
        if level and headings.numbered(title):
            size = round(blocks[i].lines[0].top_size)
            by_size[size] = min(level, by_size.get(size, level))
    unranked = sorted(
        {round(blocks[i].lines[0].top_size) for i, (_, level) in found.items() if not level}, reverse=True
    )
    rank = {size: by_size.get(size, n + 1 if not by_size else 2) for n, size in enumerate(unranked)}
    return {
        i: (title, level or rank[round(blocks[i].lines[0].top_size)])
        for i, (title, level) in sorted(found.items())
    }


def _face(line: Line) -> tuple[str, int]:
    return line.font.name, round(line.top_size)
