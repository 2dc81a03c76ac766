"""A trajectory made fit to travel inside a page: few letters for many steps, and any step found at once.

Lines lie in blocks that are compressed one by one, so that a browser unpacks only what is looked at. A byte
of flags for each line lies apart: by it lines are filtered without unpacking any.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from firetrial_analyzer.render.packing import packed, packed_bytes
from firetrial_analyzer.window import Gap, Line, Window

_BLOCK_LINES = 2048
_BLOCK_CHARACTERS = 512 * 1024
# The script knows kinds by their place here, and the flags by their bit.
KINDS = ("output", "event", "thought", "command", "edit", "model", "conclusion", "gap")
_STDERR, _FAILED, _CITED = 8, 16, 32
_TRACEBACK = "Traceback (most recent"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Control codes, marks that reorder text, blanks without width, lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `start` and on (0-based), the first of them of step `first`."""

    start: int
    first: int
    packed: str


@dataclass(frozen=True, slots=True)
class Packed:
    """`lines` counts rows, one for each gap included; `flags` has a byte for each."""

    lines: int
    last_step: int
    flags: str
    blocks: tuple[Block, ...]
    gaps: tuple[Gap, ...]


def pack(window: Window, cited: Container[int] = frozenset()) -> Packed:
    """The same window gives the same letters."""
    lines = sorted([*window.lines, *map(_gap_line, window.gaps)], key=lambda line: line.number)
    parts = list(_parts(lines))
    starts = accumulate(map(len, parts), initial=0)
    blocks = tuple(
        Block(start, part[0].number, packed(_block(part))) for start, part in zip(starts, parts, strict=False)
    )
    return Packed(
        len(lines),
        max((line.last for line in lines), default=0),
        packed_bytes(bytes(_flags(line, cited) for line in lines)),
        blocks,
        window.gaps,
    )


def _gap_line(gap: Gap) -> Line:
    said = f"Steps {gap.first:,} to {gap.last:,} are left out here."
    return Line(gap.first, gap.last, 0.0, "gap", "", said, len(said))


def visible(line: str) -> str:
    """Without colours, and with other unseen characters spelled out."""
    if line.isascii() and line.isprintable():
        return line
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), _COLOUR.sub("", line))


def _flags(line: Line, cited: Container[int]) -> int:
    """A kind that is not known here is shown as output."""
    flags = KINDS.index(line.kind) if line.kind in KINDS else 0
    flags |= _STDERR if line.stream == "stderr" else 0
    flags |= _FAILED if line.failed or line.text.startswith(_TRACEBACK) else 0
    return flags | (_CITED if any(number in cited for number in range(line.number, line.last + 1)) else 0)


def _parts(lines: Iterable[Line]) -> Iterable[list[Line]]:
    part: list[Line] = []
    size = 0
    for line in lines:
        if part and (len(part) == _BLOCK_LINES or size + len(line.text) > _BLOCK_CHARACTERS):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line.text)
    if part:
        yield part


def _block(part: Sequence[Line]) -> dict[str, object]:
    """Steps and times (in ms) as differences, which take little room; notes and cut lines by their place."""
    return {
        "steps": _differences([line.number for line in part]),
        "times": _differences([round(1000 * line.offset_s) for line in part]),
        "texts": [visible(line.text) for line in part],
        "notes": {str(place): visible(line.note) for place, line in enumerate(part) if line.note},
        "sizes": {str(place): line.size for place, line in enumerate(part) if line.size > len(line.text)},
    }


def _differences(values: Sequence[int]) -> list[int]:
    return [value - before for before, value in zip([0, *values], values, strict=False)]
