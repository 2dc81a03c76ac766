"""Tables of a page as cells, from where its glyphs and rules stand. Points, origin at the lower left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from firetrial_parser.glyphs import Glyph, Rule

FEWEST_ROWS, FEWEST_COLUMNS = 2, 2
MOST_CELLS = 20_000
EDGE = 3.0  # points that the ends of a table's rules may differ by
FAR = 60.0  # points between a caption and its table at most

# In units of the font size.
ROW = 0.45  # glyphs whose base lines differ by less stand in one row
SPACE = 0.18  # a wider gap parts words
SEGMENT = 0.75  # a wider gap parts cells, whatever the other rows look like
GUTTER = 0.4  # a gap that all full rows share parts columns

FULL = 0.6  # a row with this share of the usual cells tells where the columns are
CLOSE = 0.85  # a line nearer to the one above is no row of its own: a name set between two rows


class Box(NamedTuple):
    """A part of the page."""

    x0: float
    x1: float
    bottom: float
    top: float


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a table, row by row; the first `header_rows` stand above its first inner rule."""

    rows: tuple[tuple[str, ...], ...]
    header_rows: int


class _Word(NamedTuple):
    text: str
    x0: float
    x1: float


@dataclass(frozen=True, slots=True)
class _Row:
    y: float
    size: float
    words: tuple[_Word, ...]

    @property
    def segments(self) -> list[_Word]:
        """Words that no wide gap parts, joined."""
        out: list[_Word] = []
        for word in self.words:
            if out and word.x0 - out[-1].x1 <= SEGMENT * self.size:
                out[-1] = _Word(f"{out[-1].text} {word.text}", out[-1].x0, max(out[-1].x1, word.x1))
            else:
                out.append(word)
        return out


# ---- where the table of a caption is


def whole_rules(rules: Iterable[Rule]) -> list[Rule]:
    """The rules, those joined that are drawn cell by cell."""
    out: list[Rule] = []
    for rule in sorted(rules, key=lambda r: (-round(r.y), r.x0)):
        last = out[-1] if out else None
        if last is not None and abs(last.y - rule.y) < 1 and rule.x0 - last.x1 <= 1:
            out[-1] = Rule(last.x0, max(last.x1, rule.x1), last.y)
        else:
            out.append(rule)
    return out


def ruled_box(caption: Box, others: Sequence[Box], rules: Sequence[Rule]) -> Box | None:
    """The part of the page between the outer rules of a caption's table; None where there are no such rules.

    `others` are the other captions of the page: a table never reaches beyond one.
    """
    near = [rule for rule in rules if rule.x0 < caption.x1 and rule.x1 > caption.x0]
    beside = [other for other in others if other.x0 < caption.x1 and other.x1 > caption.x0]
    above_to = min((other.bottom for other in beside if other.bottom > caption.top), default=float("inf"))
    below_to = max((other.top for other in beside if other.top < caption.bottom), default=float("-inf"))
    above = sorted((rule for rule in near if caption.top < rule.y < above_to), key=lambda rule: rule.y)
    below = sorted((rule for rule in near if below_to < rule.y < caption.bottom), key=lambda rule: -rule.y)
    found = [(above[0].y - caption.top, _pair(above)) if above else None]
    found.append((caption.bottom - below[0].y, _pair(below)) if below else None)
    boxes = [(far, box) for far, box in filter(None, found) if box is not None and far <= FAR]
    return min(boxes)[1] if boxes else None


def _pair(stack: Sequence[Rule]) -> Box | None:
    """Between the nearest rule of the stack and the farthest of the same ends."""
    same = [
        rule for rule in stack if abs(rule.x0 - stack[0].x0) <= EDGE and abs(rule.x1 - stack[0].x1) <= EDGE
    ]
    low, high = sorted((same[0].y, same[-1].y))
    return Box(stack[0].x0, stack[0].x1, low, high) if high - low > EDGE else None


# ---- what is in it


def grid(box: Box, glyphs: Iterable[Glyph], rules: Sequence[Rule]) -> Grid | None:
    """The cells in a part of the page, or None where it holds no table."""
    inside = [
        glyph for glyph in glyphs
        if box.bottom - 1 < glyph.y < box.top and box.x0 - EDGE <= (glyph.x0 + glyph.x1) / 2 <= box.x1 + EDGE
    ]  # fmt: skip
    lines = _whole_rows(_rows(inside))
    columns = _columns(lines)
    if len(lines) < FEWEST_ROWS or not FEWEST_COLUMNS <= len(columns) <= MOST_CELLS // len(lines):
        return None
    inner = sorted(
        (rule.y for rule in rules if box.bottom + EDGE < rule.y < box.top - EDGE and _crosses(rule, box)),
        reverse=True,
    )
    laid = [(line, _laid(line, columns)) for line in lines]
    rows = _merged(laid, inner)
    head = sum(1 for line, _ in rows if inner and line.y > inner[0])
    cells = tuple(tuple(row) for _, row in rows)
    return Grid(cells, head if head < len(cells) else 0) if len(cells) >= FEWEST_ROWS else None


def _crosses(rule: Rule, box: Box) -> bool:
    return min(rule.x1, box.x1) - max(rule.x0, box.x0) >= 0.85 * (box.x1 - box.x0)


def _rows(glyphs: Iterable[Glyph]) -> list[_Row]:
    groups: list[list[Glyph]] = []
    for glyph in sorted(glyphs, key=lambda g: -g.y):
        if groups and groups[-1][0].y - glyph.y <= ROW * max(glyph.font.size, groups[-1][0].font.size):
            groups[-1].append(glyph)
        else:
            groups.append([glyph])
    return [_row(group) for group in groups]


def _row(group: Sequence[Glyph]) -> _Row:
    size = Counter(glyph.font.size for glyph in group).most_common(1)[0][0]
    words: list[_Word] = []
    last: Glyph | None = None
    for glyph in sorted(group, key=lambda g: g.x0):
        if (
            last is not None
            and glyph.x0 - last.x1 <= SPACE * size
            and not (glyph.space and glyph.x0 > last.x1)
        ):
            words[-1] = _Word(words[-1].text + glyph.text, words[-1].x0, max(words[-1].x1, glyph.x1))
        else:
            words.append(_Word(glyph.text, glyph.x0, glyph.x1))
        last = glyph
    return _Row(median(glyph.y for glyph in group), size, tuple(words))


def _whole_rows(rows: Sequence[_Row]) -> list[_Row]:
    """The rows, a name that is set between two of them put to the upper one."""
    out: list[_Row] = []
    for row in rows:
        above = out[-1] if out else None
        if above is not None and above.y - row.y < CLOSE * row.size and not _overlap(above, row):
            words = sorted((*above.words, *row.words), key=lambda word: word.x0)
            out[-1] = _Row(above.y, above.size, tuple(words))
        else:
            out.append(row)
    return out


def _overlap(a: _Row, b: _Row) -> bool:
    return any(v.x0 < w.x1 and v.x1 > w.x0 for v in a.words for w in b.words)


def _columns(rows: Sequence[_Row]) -> list[tuple[float, float]]:
    """The extents of the columns: what is between gaps that all full rows share."""
    counts = Counter(len(row.segments) for row in rows)
    most = max((n for n, rows_ in counts.items() if rows_ > 1), default=max(counts, default=0))
    full = [row for row in rows if len(row.segments) >= FULL * most]
    spans = sorted((word.x0, word.x1) for row in full for word in row.words)
    gap = GUTTER * median(row.size for row in full) if full else 0.0
    columns: list[tuple[float, float]] = []
    for x0, x1 in spans:
        if columns and x0 - columns[-1][1] < gap:
            columns[-1] = (columns[-1][0], max(columns[-1][1], x1))
        else:
            columns.append((x0, x1))
    return columns


def _laid(row: _Row, columns: Sequence[tuple[float, float]]) -> list[str]:
    """The row's cells; what spans several columns stands in the first of them."""
    cells = [""] * len(columns)
    at = 0
    for i, word in enumerate(row.words):
        before = row.words[i - 1] if i else None
        if before is None or _parts(before, word, row.size, columns):
            at = _column(word, columns)
        cells[at] = f"{cells[at]} {word.text}".strip()
    return cells


def _parts(before: _Word, word: _Word, size: float, columns: Sequence[tuple[float, float]]) -> bool:
    """Whether a word begins another cell: behind a wide gap, or in another column behind some gap."""
    gap = word.x0 - before.x1
    return gap > SEGMENT * size or (
        gap > GUTTER * size and _column(word, columns) != _column(before, columns)
    )


def _column(word: _Word, columns: Sequence[tuple[float, float]]) -> int:
    """The first column that a word stands in, else the nearest."""
    for n, (x0, x1) in enumerate(columns):
        if word.x0 < x1 and word.x1 > x0:
            return n
    return min(range(len(columns)), key=lambda n: max(word.x0 - columns[n][1], columns[n][0] - word.x1))


def _merged(laid: Iterable[tuple[_Row, list[str]]], inner: Sequence[float]) -> list[tuple[_Row, list[str]]]:
    """The rows, with what goes on in a cell of the one above, and no rule between, put there."""
    out: list[tuple[_Row, list[str]]] = []
    for line, cells in laid:
        above = out[-1] if out else None
        if (
            above is not None
            and not any(line.y < y < above[0].y for y in inner)
            and _goes_on(above[1], cells)
        ):
            at = next(i for i, text in enumerate(cells) if text)
            above[1][at] += f" {cells[at]}"
            out[-1] = (line, above[1])
        else:
            out.append((line, cells))
    return out


def _goes_on(above: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether a row is one wrapped cell that goes on: words under words, behind a first column left empty."""
    filled = [i for i, text in enumerate(cells) if text]
    return (
        len(filled) == 1
        and filled[0] > 0
        and bool(above[0])
        and _wordy(above[filled[0]])
        and _wordy(cells[filled[0]])
    )


def _wordy(text: str) -> bool:
    return sum(character.isalpha() for character in text) > len(text) / 2
