"""The front matter of a paper: its title, its authors, and an abstract that has no heading."""

from __future__ import annotations

import re
from collections.abc import Sequence

from firetrial_parser.layout import Block
from firetrial_parser.prose import join_lines, vocabulary_of
from firetrial_parser.style import STRONG, Style

TITLE_WORDS = 40
TITLE_LINES = 5
ABSTRACT_WORDS = 40  # a shorter paragraph before the first heading is no abstract


def title_blocks(blocks: Sequence[Block], style: Style, first_section: int) -> list[int]:
    """Indices of the blocks of the title: the largest type on page 1 above the first section."""
    front = [i for i in range(first_section) if blocks[i].page == 1 and blocks[i].words <= TITLE_WORDS]
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


def without_marks(text: str) -> str:
    """A name without the numbers and signs that lead to its affiliation."""
    return re.sub(r"[\d^∗*†‡§¶]+", "", text).strip(" .")


def is_name(text: str) -> bool:
    """Whether a text reads like a person's name, and like no institution."""
    return bool(_NAME.fullmatch(text)) and not _AFFILIATION.search(text)


def authors(front: Sequence[Block]) -> tuple[str, ...]:
    """The names in the front matter, from left to right and from top to bottom."""
    names: list[str] = []
    lines = sorted(
        (block.page, -round(line.y), line.x0, line.text, line.parts)
        for block in front
        for line in block.lines
    )
    for *_, text, marked in lines:
        for part in marked or (text,):
            for piece in re.split(r",|;|&|\band\b|\s{2,}|[∗*†‡§¶♦♢]", part):
                name = without_marks(piece)
                if is_name(name):
                    names += [name] if marked else _apart(name)
    return tuple(dict.fromkeys(names))


def _apart(name: str) -> list[str]:
    """Names that only a gap parted: "Ada Byron Alan Turing" → two."""
    parts = name.split()
    if len(parts) < 4 or len(parts) % 2 or any(len(p.strip(".")) == 1 or p.islower() for p in parts):
        return [name]
    return [" ".join(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]


def unnamed_abstract(front: Sequence[Block]) -> str:
    """The longest paragraph before the first heading, or ""."""
    longest = max(front, key=lambda b: b.words, default=None)
    if longest is None or longest.words < ABSTRACT_WORDS:
        return ""
    lines = [line.text for line in longest.lines]
    return join_lines(lines, vocabulary_of(lines))
