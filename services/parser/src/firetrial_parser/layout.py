"""From the lines of a page to blocks in reading order, without running headers, footers and page numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from firetrial_parser.captions import caption_start, split_caption
from firetrial_parser.glyphs import Glyph, Line, Rule
from firetrial_parser.prose import count_words

MARGIN = 0.1  # running headers and footers stand in the outer tenth of the page
REPEATS = 3  # on so many pages the same line is furniture
LINE_NUMBERS = 20  # so many bare numbers down one margin are a review copy's line numbers
LOOKBACK = 60  # blocks that a line may still belong to; keeps a hostile page linear
SIZE_TOLERANCE = 0.6  # points


@dataclass(frozen=True, slots=True)
class PageLines:
    """The lines of one page in the order they were drawn; `number` counts from 1, sizes in points.

    `rules` are its horizontal lines; `glyphs` are kept where there is a table to be read from them.
    """

    number: int
    width: float
    height: float
    lines: tuple[Line, ...]
    rules: tuple[Rule, ...] = ()
    glyphs: tuple[Glyph, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: a paragraph, a heading, a caption, a table cell."""

    page: int
    lines: tuple[Line, ...]

    @property
    def x0(self) -> float:
        """Left edge."""
        return min(line.x0 for line in self.lines)

    @property
    def x1(self) -> float:
        """Right edge."""
        return max(line.x1 for line in self.lines)

    @property
    def top(self) -> float:
        """Base line of the first line."""
        return max(line.y for line in self.lines)

    @property
    def size(self) -> float:
        """Commonest font size, weighted by text."""
        return self.lines[0].size if len(self.lines) == 1 else weighted(self.lines)

    @property
    def text(self) -> str:
        """The lines joined by blanks, hyphens left as they are."""
        return " ".join(line.text for line in self.lines)

    @property
    def words(self) -> int:
        """Number of words."""
        return sum(count_words(line.text) for line in self.lines)


def weighted(lines: Iterable[Line]) -> float:
    """The font size, to 0.1 point, in which most of the text is set; 0 without text."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def page_text(found: Iterable[Block]) -> str:
    """The text of a page's blocks, line by line."""
    return "\n".join(line.text for block in found for line in block.lines)


# ---- furniture


def margins(page: PageLines) -> list[str]:
    """What stands in the outer tenths of a page, at its top and bottom."""
    return [line.text for line in page.lines if _in_margin(line, page)]


def without_furniture(pages: Sequence[PageLines]) -> list[PageLines]:
    """The pages without what repeats in their margins, page numbers and line numbers."""
    seen: Counter[tuple[str, int]] = Counter()
    for page in pages:
        seen.update({_place(line) for line in page.lines if _in_margin(line, page)})
    ruled: Counter[Rule] = Counter()
    for page in pages:
        ruled.update({_rule_place(rule) for rule in page.rules})
    return [_strip(page, seen, ruled) for page in pages]


def _rule_place(rule: Rule) -> Rule:
    return Rule(round(rule.x0), round(rule.x1), round(rule.y))


def _place(line: Line) -> tuple[str, int]:
    return re.sub(r"\d+", "#", line.text.lower()), round(line.y / 4)


def _in_margin(line: Line | Rule, page: PageLines) -> bool:
    return not MARGIN * page.height < line.y < (1 - MARGIN) * page.height


def _strip(page: PageLines, seen: Counter[tuple[str, int]], ruled: Counter[Rule]) -> PageLines:
    numbers = [line for line in page.lines if re.fullmatch(r"\d{1,4}", line.text)]
    numbered = len(numbers) >= LINE_NUMBERS and len({round(line.x1 / 4) for line in numbers}) <= 3

    def furniture(line: Line) -> bool:
        bare = line.text.isdigit()
        repeated = seen[_place(line)] >= REPEATS
        return (_in_margin(line, page) and (bare or repeated)) or (bare and numbered)

    kept = tuple(line for line in page.lines if not furniture(line))
    rules = tuple(r for r in page.rules if ruled[_rule_place(r)] < REPEATS or not _in_margin(r, page))
    return replace(page, lines=kept, rules=rules)


# ---- blocks


def leading(pages: Sequence[PageLines]) -> float:
    """The usual distance of two base lines as a multiple of the font size, 1.0-3.0."""
    steps: Counter[float] = Counter()
    for page in pages:
        for above, below in zip(page.lines, page.lines[1:], strict=False):
            ratio = (above.y - below.y) / below.size if below.size else 0.0
            if 0.9 <= ratio <= 3 and _same_size(above, below) and len(below.text) > 20:
                steps[round(ratio, 2)] += len(below.text)
    return steps.most_common(1)[0][0] if steps else 1.2


def blocks(page: PageLines, step: float) -> list[Block]:
    """Group the lines of a page; `step` is the document's `leading`."""
    groups: list[list[Line]] = []
    for line in page.lines:
        home = _home(groups[-LOOKBACK:], line, step)
        if home is None:
            groups.append([line])
        else:
            home.append(line)
    return [Block(page.number, tuple(group)) for group in groups]


def _home(groups: Sequence[list[Line]], line: Line, step: float) -> list[Line] | None:
    fitting = [g for g in groups if _follows(g, line, step)]
    return min(fitting, key=lambda g: g[-1].y - line.y) if fitting else None


def _follows(group: Sequence[Line], line: Line, step: float) -> bool:
    last = group[-1]
    drop = last.y - line.y
    if not 0.3 * line.size < drop < 1.2 * step * max(line.top_size, last.top_size):
        return False
    overlap = min(last.x1, line.x1) - max(last.x0, line.x0)
    in_caption = split_caption(group[0].text) is not None  # its first line alone may be bold
    if overlap < 0.5 * min(last.x1 - last.x0, line.x1 - line.x0) or not _same_size(last, line):
        return False
    if not in_caption and _heads(last, line):
        return False
    if len(group) > 1 and drop > 1.25 * (group[-2].y - last.y):
        return False
    return not caption_start(line.text, continues=_mid_sentence(last), distinct=line.bold_head)


def _mid_sentence(line: Line) -> bool:
    return not line.text.endswith((".", ":", "!", "?"))


def _same_size(a: Line, b: Line) -> bool:
    return abs(a.size - b.size) <= SIZE_TOLERANCE


def _heads(above: Line, below: Line) -> bool:
    """Whether a bold line stands over one that is not: a heading over its text."""
    return above.bold > 0.85 and below.bold < 0.3 and not above.text.endswith(",")


# ---- reading order


def in_reading_order(page: PageLines, found: Sequence[Block]) -> list[Block]:
    """Top to bottom; on a two-column page the left column before the right, between what spans both."""
    gutter = _gutter(page)
    if gutter is None:
        return sorted(found, key=lambda b: (-round(b.top), b.x0))
    ordered: list[Block] = []
    band: list[Block] = []
    for block in sorted(found, key=lambda b: -b.top):
        if block.x0 < gutter - 5 and block.x1 > gutter + 5:
            ordered += _columns(band, gutter)
            ordered.append(block)
            band = []
        else:
            band.append(block)
    return ordered + _columns(band, gutter)


def _columns(band: Sequence[Block], gutter: float) -> list[Block]:
    left = [b for b in band if (b.x0 + b.x1) / 2 < gutter]
    right = [b for b in band if (b.x0 + b.x1) / 2 >= gutter]
    return left + right


def _gutter(page: PageLines) -> float | None:
    """The x of the gutter when most of the page's text stands in two columns."""
    size = weighted(page.lines)
    body = [line for line in page.lines if abs(line.size - size) <= SIZE_TOLERANCE and len(line.text) > 20]
    if len(body) < 10:
        return None
    left_edge, right_edge = min(line.x0 for line in body), max(line.x1 for line in body)
    middle = (left_edge + right_edge) / 2
    left = [line for line in body if line.x1 <= middle + 2]
    right = [line for line in body if line.x0 >= middle - 2]
    if min(len(left), len(right)) < 5 or len(left) + len(right) < 0.6 * len(body):
        return None
    return (median(line.x1 for line in left) + median(line.x0 for line in right)) / 2
