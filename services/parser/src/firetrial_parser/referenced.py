"""The references of a PDF, entry by entry, told apart by their numbers or by how they are indented."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from firetrial_parser.glyphs import Line
from firetrial_parser.layout import SIZE_TOLERANCE, Block, weighted
from firetrial_parser.prose import alphabetic_share, join_lines

COLUMN = 60.0  # points: left edges that differ by more are those of different columns
HANGING = 30.0  # points that the lines of an entry may be set in
INDENT = 0.5  # a line set in by more font sizes goes on with its entry
SHARE = 0.2  # so many lines must be set in (half as many begin with a number), or else that tells nothing
LETTERS = 0.4  # a block with a smaller share of letters is a table that floated here

_NUMBERED = re.compile(r"\[\d{1,4}\]|\d{1,3}\.\s")


def references(blocks: Sequence[Block], vocabulary: set[str]) -> tuple[str, ...]:
    """The entries in their order, each joined to one line."""
    size = weighted(line for block in blocks for line in block.lines)
    own = [block for block in blocks if _is_text(block, size)]
    entries: list[list[str]] = []
    for line, begins in _lines(own):
        if begins or not entries:
            entries.append([])
        entries[-1].append(line.text)
    return tuple(join_lines(entry, vocabulary) for entry in entries)


def _is_text(block: Block, size: float) -> bool:
    table = len(block.text) > 20 and alphabetic_share([block.text]) < LETTERS
    return abs(block.size - size) <= SIZE_TOLERANCE and not table and not block.text.isdigit()


def _lines(blocks: Sequence[Block]) -> Iterator[tuple[Line, bool]]:
    """The lines down each column of each page, and whether an entry begins with them."""
    edges = _edges(blocks)
    placed = sorted(
        (block.page, _column(line, edges[block.page]), -round(line.y / 2), line.x0, n, line)
        for n, (block, line) in enumerate((block, line) for block in blocks for line in block.lines)
    )
    lines = [line for *_, line in placed]
    numbered = [bool(_NUMBERED.match(line.text)) for line in lines]
    first = [line.x0 <= edges[page][column] + INDENT * line.size for page, column, *_, line in placed]
    if sum(numbered) >= max(2, SHARE * len(lines) / 2):
        starts = numbered
    elif len(first) - sum(first) >= SHARE * len(first):
        starts = first
    else:
        heads = {block.lines[0] for block in blocks}
        starts = [line in heads for line in lines]
    return zip(lines, starts, strict=True)


def _edges(blocks: Sequence[Block]) -> dict[int, list[float]]:
    """The left edges of the columns of each page: where several lines begin, or one a little further left."""
    begins: dict[int, Counter[int]] = {}
    for block in blocks:
        begins.setdefault(block.page, Counter()).update(round(line.x0) for line in block.lines)
    edges: dict[int, list[float]] = {}
    for page, found in begins.items():
        for x0 in sorted(x0 for x0, lines in found.items() if lines > 1) or [min(found)]:
            if not edges.get(page) or x0 - edges[page][-1] > COLUMN:
                edge = min(x for x in found if x0 - HANGING <= x <= x0)
                edges.setdefault(page, []).append(float(edge))
    return edges


def _column(line: Line, edges: Sequence[float]) -> int:
    return max((n for n, edge in enumerate(edges) if edge <= line.x0 + 1), default=0)
