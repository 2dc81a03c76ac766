"""From blocks in reading order to title, authors, sections and captions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from firetrial_parser import headings
from firetrial_parser.captions import CaptionStart, caption_start, split_caption
from firetrial_parser.document import PARAGRAPH_BREAK, Caption, Section
from firetrial_parser.glyphs import Line
from firetrial_parser.layout import Block, weighted
from firetrial_parser.prose import alphabetic_share, join_lines, vocabulary_of

STRONG = 1.12  # a heading that is not bold is set this much larger than the body
SMALL = 0.93  # footnotes
TINY = 0.78  # labels inside figures
TITLE_WORDS = 40
TITLE_LINES = 5

_TOC_ENTRY = re.compile(r".*(?:\s?\.){4,}\s*\d*$|.*\S\s+\d{1,3}$")


@dataclass(frozen=True, slots=True)
class Structure:
    """What the layout of a paper tells: the parts of a `Document` that a reader must find."""

    title: str
    authors: tuple[str, ...]
    abstract: str
    sections: tuple[Section, ...]
    captions: tuple[Caption, ...]


@dataclass(slots=True)
class _Open:
    """A section that is still being filled."""

    title: str
    level: int
    page: int
    paragraphs: list[str] = field(default_factory=list)


def structure(blocks: Sequence[Block]) -> Structure:
    """Read the structure off all blocks of a document, given page by page in reading order."""
    style = _Style.of(blocks)
    vocabulary = vocabulary_of(line.text for b in blocks for line in b.lines)
    found = _headings(blocks, style)
    title_at = _title(blocks, style, found)
    sections, captions, front = _fill(blocks, found, style, vocabulary, title_at)
    title_lines = sorted((line for i in title_at for line in blocks[i].lines), key=lambda t: (-round(t.y), t.x0))
    return Structure(
        title=join_lines((line.text for line in title_lines), vocabulary),
        authors=_authors(front),
        abstract=_abstract(sections, front),
        sections=tuple(Section(s.title, s.level, s.page, PARAGRAPH_BREAK.join(s.paragraphs)) for s in sections),
        captions=tuple(captions),
    )


# ---- headings


@dataclass(frozen=True, slots=True)
class _Style:
    """The size, in points, and the name of the body's font."""

    body: float
    font: str

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> _Style:
        full = [line for b in blocks for line in b.lines if len(line.text) > 20]
        size = weighted(full) or 10.0
        names = Counter(line.font.name for line in full if round(line.size, 1) == size)
        return cls(size, names.most_common(1)[0][0] if names else "")

    def strong(self, block: Block) -> bool:
        """Whether a block is set like a heading: bold, larger, or in small capitals."""
        letters = "".join(line.text for line in block.lines)
        bold = all(line.bold >= 0.85 for line in block.lines)
        small_caps = letters.isupper() and block.lines[0].top_size >= 1.15 * block.size
        return block.size >= TINY * self.body and (bold or small_caps or block.size >= STRONG * self.body)


def _headings(blocks: Sequence[Block], style: _Style) -> dict[int, tuple[str, int]]:
    """Index of block → (title, level)."""
    candidates = [i for i, b in enumerate(blocks) if _could_be_heading(b, style)]
    found = _numbered(blocks, candidates)
    faces = frozenset(_face(blocks[i].lines[0]) for i in found)
    for i in candidates:
        text = _text(blocks[i])
        if i in found:
            continue
        if headings.is_named(text):
            found[i] = (text.rstrip(".:"), 1)
        elif _stands_out(blocks, i, style, faces):
            found[i] = (text, 0)
    return _with_levels(_whole(found, blocks), blocks)


def _whole(found: dict[int, tuple[str, int]], blocks: Sequence[Block]) -> dict[int, tuple[str, int]]:
    """Put the second line of a long heading back to its first."""
    out: dict[int, tuple[str, int]] = {}
    for i, (title, level) in sorted(found.items()):
        above, here = blocks[i - 1], blocks[i]
        near = above.page == here.page and 0 < above.lines[-1].y - here.top < 1.6 * here.lines[0].top_size
        if i - 1 in out and not level and near and _face(above.lines[0]) == _face(here.lines[0]):
            out[i - 1] = (f"{out[i - 1][0]} {title}", out[i - 1][1])
            out[i] = ("", 0)
        else:
            out[i] = (title, level)
    return out


def _could_be_heading(block: Block, style: _Style) -> bool:
    text = _text(block)
    named = headings.is_named(text) and text[0].isupper() and block.size >= SMALL * style.body
    return (
        len(block.lines) <= 3
        and len(text) <= headings.MAX_HEADING_CHARS
        and (style.strong(block) or named)
        and split_caption(text) is None
        and not text.endswith((",", ";"))
    )


def _numbered(blocks: Sequence[Block], candidates: Sequence[int]) -> dict[int, tuple[str, int]]:
    contents = {blocks[i].page for i in candidates if _text(blocks[i]).lower() in headings.NOT_PROSE}
    numbers: list[tuple[int, headings.Number]] = []
    for i in candidates:
        number = headings.numbered(_text(blocks[i]))
        if number and not (blocks[i].page in contents and _TOC_ENTRY.match(number.title)):
            numbers.append((i, number))
    chain = headings.longest_chain([number for _, number in numbers])
    return {i: (_text(blocks[i]), number.level) for k, (i, number) in enumerate(numbers) if k in chain}


def _stands_out(
    blocks: Sequence[Block], i: int, style: _Style, faces: frozenset[tuple[str, int]]
) -> bool:
    """Whether a heading without number or known name is one: in a heading's face, above prose, at its edge."""
    block, text = blocks[i], _text(blocks[i])
    below = next((b for b in blocks[i + 1 : i + 2] if b.page == block.page), None)
    if below is None or not _is_prose(below, style) or below.top > block.top:
        return False
    if block.lines[-1].x1 > below.x1 - style.body:
        return False  # a full line: the bold beginning of a paragraph
    if not text[:1].isupper() or alphabetic_share([text]) < 0.8 or text.endswith(".") or text.count(" ") > 14:
        return False
    face_fits = _face(block.lines[0]) in faces if faces else block.size >= 0.97 * style.body
    return face_fits and abs(block.x0 - below.x0) < 2 * style.body


def _with_levels(found: dict[int, tuple[str, int]], blocks: Sequence[Block]) -> dict[int, tuple[str, int]]:
    """Give headings without a number the level of a numbered one of their size, else rank them by size."""
    by_size: dict[int, int] = {}
    for i, (title, level) in found.items():
        if level and headings.numbered(title):
            size = round(blocks[i].lines[0].top_size)
            by_size[size] = min(level, by_size.get(size, level))
    unranked = sorted({round(blocks[i].lines[0].top_size) for i, (_, level) in found.items() if not level}, reverse=True)
    rank = {size: by_size.get(size, n + 1 if not by_size else 2) for n, size in enumerate(unranked)}
    return {
        i: (title, level or rank[round(blocks[i].lines[0].top_size)]) for i, (title, level) in sorted(found.items())
    }


def _face(line: Line) -> tuple[str, int]:
    return line.font.name, round(line.top_size)


def _text(block: Block) -> str:
    return " ".join(line.text for line in block.lines)


# ---- front matter


def _title(blocks: Sequence[Block], style: _Style, found: dict[int, tuple[str, int]]) -> list[int]:
    """The blocks of the title: the largest type above the first numbered or named heading of page 1."""
    end = min((i for i, (t, _) in found.items() if headings.numbered(t) or headings.is_named(t)), default=len(blocks))
    front = [i for i in range(end) if blocks[i].page == 1 and blocks[i].words <= TITLE_WORDS]
    if not front:
        return []
    size = max(blocks[i].lines[0].top_size for i in front)
    if size < STRONG * style.body:
        return front[:1]
    first = next(i for i in front if blocks[i].lines[0].top_size == size)
    return [i for i in front if _in_title(blocks[i], blocks[first], size, style.body)]


def _in_title(block: Block, first: Block, size: float, body: float) -> bool:
    near = -size < first.top - block.top < TITLE_LINES * size
    return near and block.lines[0].top_size >= max(STRONG * body, 0.75 * size)


_AFFILIATION = re.compile(
    r"(?i)universit|institut|college|school|department|laborator|research\b|google|deepmind|openai|anthropic"
    r"|microsoft|meta ai|apple|nvidia|samsung|hospital|center|centre|@|http|inc\.|equal|contribut|correspond"
    r"|\b(?:ai|uc|mit|eth|epfl)\b|stanford|berkeley|preprint|arxiv|proceedings|program|authors?\b"
)
_NAME = re.compile(r"[A-Z][\w.'’\-]*(?: (?:[A-Z][\w.'’\-]*|de|van|von|der|el|al|bin|di|la)){1,11}")


def _authors(front: Sequence[Block]) -> tuple[str, ...]:
    names: list[str] = []
    for block in front:
        for line in block.lines:
            for part in re.split(r",|;|&|\band\b|\s{2,}|[∗*†‡§¶♦♢]", line.text):
                name = re.sub(r"[\d^∗*†‡§¶]+", "", part).strip(" .")
                if _NAME.fullmatch(name) and not _AFFILIATION.search(name):
                    names += _apart(name)
    return tuple(dict.fromkeys(names))


def _apart(name: str) -> list[str]:
    """Names that only a gap parted: "Ada Byron Alan Turing" → two."""
    parts = name.split()
    if len(parts) < 4 or len(parts) % 2 or any(len(p.strip(".")) == 1 or p.islower() for p in parts):
        return [name]
    return [" ".join(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]


def _abstract(sections: Sequence[_Open], front: Sequence[Block]) -> str:
    for section in sections:
        if section.title.lower() in {"abstract", "summary"} and section.paragraphs:
            return " ".join(section.paragraphs)
    longest = max(front, key=lambda b: b.words, default=None)
    if longest is None or longest.words < 40:
        return ""
    return join_lines((line.text for line in longest.lines), vocabulary_of(line.text for line in longest.lines))


# ---- filling the sections


def _fill(
    blocks: Sequence[Block],
    found: dict[int, tuple[str, int]],
    style: _Style,
    vocabulary: set[str],
    title_at: Sequence[int],
) -> tuple[list[_Open], list[Caption], list[Block]]:
    sections: list[_Open] = []
    captions: dict[str, tuple[int, Caption]] = {}
    front: list[Block] = []
    last: Block | None = None
    for i, block in enumerate(blocks):
        if i in found and i not in title_at:
            title, level = found[i]
            sections += [_Open(title, level, block.page)] if title else []
        elif (start := _caption(block)) is not None:
            _keep_best(captions, start, block, vocabulary, len(sections) - 1, style)
        elif not sections:
            front += [] if i in title_at else [block]
        elif _is_prose(block, style):
            turned = last is not None and (last.page != block.page or last.top < block.top)
            _add_prose(sections[-1].paragraphs, block, vocabulary, turned=turned)
            last = block
    return sections, [caption for _, caption in captions.values()], front


def _caption(block: Block) -> CaptionStart | None:
    first = block.lines[0]
    if not caption_start(_text(block), continues=False, distinct=True):
        return None
    start = split_caption(_text(block))
    if start is None or start.mark or first.bold_head:
        return start
    return None


def _keep_best(
    captions: dict[str, tuple[int, Caption]],
    start: CaptionStart,
    block: Block,
    vocabulary: set[str],
    section: int,
    style: _Style,
) -> None:
    """Keep one caption a label: where two claim it, the one that looks most like a caption, then the first."""
    text = join_lines((line.text for line in block.lines), vocabulary)
    rest = split_caption(text)
    first = block.lines[0]
    score = 2 * (start.mark in {":", "|"}) + first.bold_head + (block.size < 0.97 * style.body)
    caption = Caption(
        start.label, start.kind, block.page, rest.rest if rest else start.rest, section if section >= 0 else None
    )
    if start.label not in captions or captions[start.label][0] < score:
        captions[start.label] = (score, caption)


def _is_prose(block: Block, style: _Style) -> bool:
    """Running text: no labels of a plot, no cells of a table, no footnote."""
    small = block.size <= SMALL * style.body
    if block.size < TINY * style.body or (small and block.lines[0].marked):
        return False
    alien = block.lines[0].font.name != style.font
    if alien and len(block.lines) == 1 and block.words < 8 and not _text(block).endswith((".", ":", "?", "!", "-")):
        return False  # an axis, a legend
    per_line = block.words / len(block.lines)
    return per_line >= 4 and alphabetic_share([_text(block)]) > 0.6


def _add_prose(paragraphs: list[str], block: Block, vocabulary: set[str], *, turned: bool) -> None:
    """Add a block's paragraphs; `turned` says that a column or page ended before it."""
    for n, group in enumerate(_split_at_indents(block)):
        text = join_lines((line.text for line in group), vocabulary)
        if paragraphs and _goes_on(paragraphs[-1], text, turned=turned and n == 0):
            paragraphs[-1] = join_lines([paragraphs[-1], text], vocabulary)
        else:
            paragraphs.append(text)


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
