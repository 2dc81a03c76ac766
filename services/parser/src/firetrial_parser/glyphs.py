"""From single glyphs to lines of text. Plain geometry: points, origin at the lower left of the page."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

LIGATURES = str.maketrans(
    {
        **{chr(0xFB00 + i): text for i, text in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))},
        "\u00a0": " ",
        "\u00ad": "-",
        "\u0002": "-",  # how PDFium marks a hyphen at the end of a line
        "\ufffe": "-",
        "\u2010": "-",
        "\u2011": "-",
    }
)
ACCENTS = {"¨": "\u0308", "´": "\u0301", "`": "\u0300", "ˆ": "\u0302", "ˇ": "\u030c", "˚": "\u030a"}

_MARK = "\x1f"  # where a raised mark was left out

# In units of the font size.
SAME_LINE_SHIFT = 0.6  # scripts and fractions sit this far off the base line at most
WIDE_GAP = 1.25  # wider than a \quad after a section number, narrower than a column gutter
RUN = 40  # glyphs of a line that the next one may adjoin: a number, a name in Latin letters
BACKSTEP = 0.6  # kerning and accents step back a little; a new line steps back far


class Font(NamedTuple):
    """A face at its size on the page, in points."""

    name: str
    size: float
    bold: bool


class Glyph(NamedTuple):
    """One character. `space` says that a space stands before it."""

    text: str
    x0: float
    x1: float
    y: float
    font: Font
    space: bool


class Rule(NamedTuple):
    """A horizontal line that is drawn, from x0 to x1."""

    x0: float
    x1: float
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """Glyphs on one base line without a wide gap.

    `size` is the commonest font size, `top_size` the largest; `bold` is the bold share of the letters, 0–1;
    `bold_head` says that the first word is bold; `marked` that it began with a raised footnote mark. Where
    such marks stand further on, `parts` is the text between them.
    """

    text: str
    x0: float
    x1: float
    y: float
    font: Font
    top_size: float
    bold: float
    bold_head: bool = False
    marked: bool = False
    parts: tuple[str, ...] = ()

    @property
    def size(self) -> float:
        """The commonest font size in points."""
        return self.font.size


def combine_accents(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Put each accent that TeX set as a glyph of its own onto the letter under it."""
    accents = [g for g in glyphs if g.text in ACCENTS]
    if not accents:
        return list(glyphs)
    out = [g for g in glyphs if g.text not in ACCENTS]
    for accent in accents:
        middle = (accent.x0 + accent.x1) / 2
        for i, g in enumerate(out):
            if g.x0 <= middle <= g.x1 and abs(g.y - accent.y) < g.font.size / 2 and g.text.isalpha():
                out[i] = g._replace(text=unicodedata.normalize("NFC", g.text + ACCENTS[accent.text]))
                break
    return out


def lines(glyphs: Iterable[Glyph]) -> list[Line]:
    """Group glyphs, taken in the order they were drawn, into lines."""
    groups: list[list[Glyph]] = []
    base: Glyph | None = None  # the first of the largest glyphs of the line: scripts are smaller
    leftward = False  # whether the line has letters of a script that is written from right to left
    for glyph in glyphs:
        turns = not glyph.text.isascii() and _is_leftward(glyph.text)
        if base is not None and (
            _continues(groups[-1][-1], base, glyph) or ((leftward or turns) and _adjoins(groups[-1], glyph))
        ):
            groups[-1].append(glyph)
            leftward = leftward or turns
            if glyph.font.size > base.font.size:
                base = glyph
        else:
            groups.append([glyph])
            base, leftward = glyph, turns
    return [line for line in map(_line, groups) if line.text]


def _is_leftward(text: str) -> bool:
    return unicodedata.bidirectional(text[0]) in {"R", "AL"}


def _adjoins(group: Sequence[Glyph], glyph: Glyph) -> bool:
    """Whether a glyph stands at either end of its line: PDFium gives letters in the order of reading."""
    last, size = group[-1], max(group[-1].font.size, glyph.font.size)
    if abs(glyph.y - last.y) > SAME_LINE_SHIFT * size:
        return False
    near = WIDE_GAP * size
    left = min(g.x0 for g in group[-RUN:])
    right = max(g.x1 for g in group[-RUN:])
    return left - near <= glyph.x1 and glyph.x0 <= right + near


def _continues(last: Glyph, base: Glyph, glyph: Glyph) -> bool:
    size = max(base.font.size, glyph.font.size)
    gap = glyph.x0 - last.x1
    # The letters of a ligature share one box, so a glyph may start where the last one started.
    forward = gap >= -BACKSTEP * size or glyph.x0 >= last.x0 - 0.1 * size
    return abs(glyph.y - base.y) <= SAME_LINE_SHIFT * size and forward and gap <= WIDE_GAP * size


def _line(group: Sequence[Glyph]) -> Line:
    main = Counter(g.font for g in group).most_common(1)[0][0]
    base = next((g.y for g in group if g.font == main), group[0].y)
    spelt, marked = _spell(group, main, base)
    parts = tuple(part for piece in spelt.split(_MARK) if (part := " ".join(piece.split())))
    letters = [g for g in group if g.text.isalpha()]
    return Line(
        text=" ".join(spelt.replace(_MARK, "").split()),
        x0=min(g.x0 for g in group),
        x1=max(g.x1 for g in group),
        y=base,
        font=main,
        top_size=max(g.font.size for g in group),
        bold=sum(g.font.bold for g in letters) / len(letters) if letters else float(main.bold),
        bold_head=bool(letters) and all(g.font.bold for g in letters[:3]),
        marked=marked,
        parts=parts if len(parts) > 1 else (),
    )


def _spell(group: Sequence[Glyph], main: Font, base: float) -> tuple[str, bool]:
    """The line's text with `_MARK` for each run of footnote marks inside, and whether it began with one."""
    parts: list[str] = []
    marked = exponent = False
    for g in group:
        raised = g.y - base > 0.2 * main.size and g.font.size < 0.85 * main.size
        if raised and not g.text.isalpha() and not exponent:
            if not parts or not (parts[-1].isdigit() or parts[-1] == ")"):
                marked = marked or not parts
                if parts and parts[-1] != _MARK:  # of a footnote or an affiliation
                    parts.append(_MARK)
                continue
            parts.append("^")
        exponent = raised and not g.text.isalpha()
        if g.space and parts and not exponent:
            parts.append(" ")
        parts.append(g.text)
    return "".join(parts), marked
