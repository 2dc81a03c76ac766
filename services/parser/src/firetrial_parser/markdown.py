"""Markdown in, document out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from firetrial_parser.captions import caption_start, split_caption
from firetrial_parser.document import PARAGRAPH_BREAK, Caption, Document, Section
from firetrial_parser.intake import decode

NO_PAGE = 0  # Markdown and text have no pages


@dataclass(frozen=True, slots=True)
class Piece:
    """A heading (level 1-6) or a paragraph (level 0) of running text."""

    level: int
    text: str


def read_markdown(data: bytes) -> Document:
    """Parse Markdown (CommonMark with tables). Raises INVALID for what is no text."""
    source = decode(data)
    return assemble(list(_pieces(source)), source, data, "markdown")


def _pieces(source: str) -> Iterator[Piece]:
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    level, in_table = 0, 0
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "heading_close":
            level = 0
        elif token.type in {"table_open", "table_close"}:
            in_table += token.nesting
        elif token.type == "inline" and not in_table:
            text = " ".join(_plain(token).split())
            if text:
                yield Piece(level, text)


def _plain(token: Token) -> str:
    parts: list[str] = []
    for child in token.children or []:
        if child.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif child.type in {"text", "code_inline", "image"}:  # an image's content is its alternative text
            parts.append(child.content)
    return "".join(parts)


def assemble(
    pieces: Sequence[Piece], source: str, data: bytes, format_: Literal["markdown", "text"]
) -> Document:
    """Sections, captions and title from headings and paragraphs; `source` is kept as the one page."""
    top = min((p.level for p in pieces if p.level), default=0)
    heads = [i for i, p in enumerate(pieces) if p.level == top]
    has_title = bool(top) and len(heads) == 1 and not any(p.level for p in pieces[: heads[0]])
    title = pieces[heads[0]].text if has_title else ""
    base = min((p.level for p in pieces if p.level > top), default=top) if has_title else top
    sections: list[tuple[Piece, list[str]]] = []
    captions: dict[str, Caption] = {}
    front: list[str] = []
    for i, piece in enumerate(pieces):
        start = split_caption(piece.text)
        if piece.level:
            sections += [] if has_title and i == heads[0] else [(piece, [])]
        elif start and start.mark and caption_start(piece.text, continues=False, distinct=True):
            section = len(sections) - 1 if sections else None
            captions.setdefault(start.label, Caption(start.label, start.kind, NO_PAGE, start.rest, section))
        else:
            (sections[-1][1] if sections else front).append(piece.text)
    return Document(
        sha256=hashlib.sha256(data).hexdigest(),
        format=format_,
        title=title or (front[0] if front and len(front[0]) < 200 else ""),
        abstract=_abstract(sections, front),
        authors=(),
        sections=tuple(
            Section(head.text, head.level - base + 1, NO_PAGE, PARAGRAPH_BREAK.join(texts))
            for head, texts in sections
        ),
        captions=tuple(captions.values()),
        pages=(source,),
    )


def _abstract(sections: Sequence[tuple[Piece, list[str]]], front: Sequence[str]) -> str:
    for head, texts in sections:
        if head.text.strip().lower() in {"abstract", "summary"}:
            return " ".join(texts)
    return max(front, key=len, default="")
