"""Sections filled with their paragraphs, and captions set apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from firetrial_parser.anchor import Anchor
from firetrial_parser.captions import CaptionStart, caption_start, split_caption
from firetrial_parser.document import PARAGRAPH_BREAK, Caption, Section
from firetrial_parser.glyphs import Line
from firetrial_parser.headings import is_bibliography, supplementary
from firetrial_parser.layout import Block, page_text
from firetrial_parser.prose import join_lines
from firetrial_parser.style import Style


@dataclass(slots=True)
class _Open:
    """A section that is still being filled."""

    title: str
    level: int
    page: int
    paragraphs: list[str] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)


class Filling:
    """Takes blocks in reading order; `front` keeps what stands before the first heading.

    `entries` are the blocks of the references.
    """

    def __init__(self, style: Style, vocabulary: set[str]) -> None:
        self.front: list[Block] = []
        self.entries: list[Block] = []
        self._style = style
        self._vocabulary = vocabulary
        self._open: list[_Open] = []
        self._captions: dict[str, tuple[int, Caption]] = {}
        self._last: Block | None = None

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections so far."""
        beyond = supplementary([(s.title, s.level) for s in self._open])
        return tuple(
            Section(s.title, s.level, s.page, PARAGRAPH_BREAK.join(s.paragraphs), extra, tuple(s.anchors))
            for s, extra in zip(self._open, beyond, strict=True)
        )

    @property
    def captions(self) -> tuple[Caption, ...]:
        """The captions so far, one a label."""
        return tuple(caption for _, caption in self._captions.values())

    def fill(
        self, blocks: Sequence[Block], found: Mapping[int, tuple[str, int]], title_at: Collection[int]
    ) -> None:
        """Put each block where it belongs; `found` are the headings, `title_at` the title's blocks."""
        for i, (block, start_at) in enumerate(zip(blocks, _starts(blocks), strict=True)):
            if i in title_at:
                continue
            if i in found:
                title, level = found[i]
                self._open += [_Open(title, level, block.page)] if title else []
            elif (start := _caption_of(block)) is not None:
                self._keep_best(start, block)
            elif not self._open:
                self.front.append(block)
            elif is_bibliography(self._open[-1].title):
                self.entries.append(block)
            elif self._style.prose(block):
                self._add_prose(block, start_at)

    def _keep_best(self, start: CaptionStart, block: Block) -> None:
        """Keep one caption a label: the one that looks most like a caption, then the first."""
        text = join_lines((line.text for line in block.lines), self._vocabulary)
        whole = split_caption(text)
        score = 2 * (start.mark in {":", "|"}) + block.lines[0].bold_head
        score += block.size < 0.97 * self._style.body
        section = len(self._open) - 1 if self._open else None
        caption = Caption(start.label, start.kind, block.page, (whole or start).rest, section)
        if start.label not in self._captions or self._captions[start.label][0] < score:
            self._captions[start.label] = (score, caption)

    def _add_prose(self, block: Block, start: int) -> None:
        last, self._last = self._last, block
        turned = last is not None and (last.page != block.page or last.top < block.top)
        section = self._open[-1]
        for n, group in enumerate(_split_at_indents(block)):
            text = join_lines((line.text for line in group), self._vocabulary)
            end = start + len("\n".join(line.text for line in group))
            if section.paragraphs and _goes_on(section.paragraphs[-1], text, turned=turned and n == 0):
                section.paragraphs[-1] = join_lines([section.paragraphs[-1], text], self._vocabulary)
                if section.anchors[-1].page == block.page:
                    section.anchors[-1] = replace(section.anchors[-1], end=end)
            else:
                section.paragraphs.append(text)
                section.anchors.append(Anchor(block.page, start, end))
            start = end + 1


def _starts(blocks: Sequence[Block]) -> Iterator[int]:
    """Where each block begins in the text of its page."""
    page = at = 0
    for block in blocks:
        at = at if block.page == page else 0
        page = block.page
        yield at
        at += len(page_text([block])) + 1


def _caption_of(block: Block) -> CaptionStart | None:
    start = split_caption(block.text)
    if start is None or not caption_start(block.text, continues=False, distinct=True):
        return None
    return start if start.mark or block.lines[0].bold_head else None


def _split_at_indents(block: Block) -> list[list[Line]]:
    edge = min(line.x0 for line in block.lines)
    groups = [[block.lines[0]]]
    for above, line in pairwise(block.lines):
        indented = line.x0 > edge + 0.7 * line.size and above.x0 <= edge + 0.7 * above.size
        if indented and above.text.endswith((".", ":", "?", "!")):
            groups.append([line])
        else:
            groups[-1].append(line)
    return groups


def _goes_on(before: str, after: str, *, turned: bool) -> bool:
    """Whether a paragraph that was cut goes on."""
    ended = before.rstrip(")”\"'").endswith((".", "!", "?", ":"))
    return not ended and (turned or after[:1].islower() or before.endswith("-"))
