"""Markdown in, document out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from firetrial_parser.assembling import Captioned, Cells, Front, Heading, Paragraph, Piece, assemble
from firetrial_parser.captions import caption_start, split_caption
from firetrial_parser.document import Document, Format
from firetrial_parser.intake import decode

TITLE_CHARS = 200  # a longer first paragraph is no title


def read_markdown(data: bytes) -> Document:
    """Parse Markdown (CommonMark with tables). Raises INVALID for what is no text."""
    return deduce(list(_pieces(decode(data))), data, "markdown")


def _pieces(source: str) -> Iterator[Piece]:
    tokens = iter(MarkdownIt("commonmark").enable("table").parse(source))
    level = 0
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "heading_close":
            level = 0
        elif token.type == "table_open":
            yield _table(tokens)
        elif token.type in {"fence", "code_block"} and token.content.strip():
            yield Paragraph(token.content.strip())
        elif token.type == "inline" and (text := _plain(token)):
            yield Heading(level, text) if level else Paragraph(text)


def _table(tokens: Iterator[Token]) -> Cells:
    rows: list[list[str]] = []
    heads = 0
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "thead_close":
            heads = len(rows)
        elif token.type == "inline":
            rows[-1].append(_plain(token))
    return Cells(tuple(map(tuple, rows)), heads)


def _plain(token: Token) -> str:
    parts: list[str] = []
    for child in token.children or []:
        if child.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif child.type in {"text", "code_inline", "image"}:  # an image's content is its alternative text
            parts.append(child.content)
    return " ".join("".join(parts).split())


def deduce(pieces: Sequence[Piece], data: bytes, format_: Format) -> Document:
    """A document of headings and paragraphs that do not say which is the title, a caption, the abstract."""
    title_at = _title(pieces)
    rest = [_captioned(piece) for i, piece in enumerate(pieces) if i != title_at]
    before = [p.text for p in rest[: _first_heading(rest)] if isinstance(p, Paragraph)]
    titled = pieces[title_at] if title_at is not None else None
    title = titled.text if isinstance(titled, Heading) else ""
    if not title and before and len(before[0]) < TITLE_CHARS:
        title = before[0]
    return assemble(rest, Front(title=title, abstract=_abstract(rest, before)), data, format_)


def _title(pieces: Sequence[Piece]) -> int | None:
    """The only heading of the highest level, where no other stands before it."""
    levels = [(i, piece.level) for i, piece in enumerate(pieces) if isinstance(piece, Heading)]
    top = min((level for _, level in levels), default=0)
    highest = [i for i, level in levels if level == top]
    return highest[0] if len(highest) == 1 and levels[0][0] == highest[0] else None


def _first_heading(pieces: Sequence[Piece]) -> int:
    return next((i for i, piece in enumerate(pieces) if isinstance(piece, Heading)), len(pieces))


def _captioned(piece: Piece) -> Piece:
    start = split_caption(piece.text) if isinstance(piece, Paragraph) else None
    if start is None or not start.mark or not isinstance(piece, Paragraph):
        return piece
    if not caption_start(piece.text, continues=False, distinct=True):
        return piece
    return Captioned(start.label, start.kind, start.rest)


def _abstract(pieces: Sequence[Piece], before: Sequence[str]) -> str:
    named = (
        i for i, p in enumerate(pieces)
        if isinstance(p, Heading) and p.text.strip().lower() in {"abstract", "summary"}
    )  # fmt: skip
    at = next(named, None)
    if at is None:
        return max(before, key=len, default="")
    under = pieces[at + 1 : at + 1 + _first_heading(pieces[at + 1 :])]
    return " ".join(piece.text for piece in under if isinstance(piece, Paragraph))
