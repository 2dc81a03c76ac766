"""The tables of a PDF: for each caption the cells above or below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from firetrial_parser.captions import split_caption
from firetrial_parser.cells import Box, grid, ruled_box, whole_rules
from firetrial_parser.document import Caption, Table
from firetrial_parser.layout import Block, PageLines


def tables(
    pages: Sequence[PageLines], found: Sequence[Sequence[Block]], captions: Sequence[Caption]
) -> tuple[Table, ...]:
    """The tables that can be read as cells; `found` are the blocks of each page."""
    wanted = {(caption.page, caption.label) for caption in captions if caption.kind == "table"}
    return tuple(
        table for page, blocks in zip(pages, found, strict=True) if page.glyphs
        for table in _on(page, blocks, wanted)
    )  # fmt: skip


def _on(page: PageLines, blocks: Sequence[Block], wanted: set[tuple[int, str]]) -> Iterator[Table]:
    starts = [(start, _box(block)) for block in blocks if (start := split_caption(block.text)) is not None]
    rules = whole_rules(page.rules)
    for n, (start, box) in enumerate(starts):
        if (page.number, start.label) not in wanted:
            continue
        wanted.discard((page.number, start.label))
        place = ruled_box(box, [other for m, (_, other) in enumerate(starts) if m != n], rules)
        cells = grid(place, page.glyphs, rules) if place is not None else None
        if cells is not None:
            yield Table(start.label, page.number, cells.rows, cells.header_rows)


def _box(block: Block) -> Box:
    last = block.lines[-1]
    return Box(block.x0, block.x1, min(last.y, block.top) - 0.3 * last.size, block.top + 0.8 * block.size)
