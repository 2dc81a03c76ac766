"""Plain text in, document out. Form feeds part pages, blank lines part paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firetrial_parser import headings
from firetrial_parser.assembling import Heading, Paragraph
from firetrial_parser.captions import split_caption
from firetrial_parser.document import Document
from firetrial_parser.intake import decode
from firetrial_parser.markdown import deduce
from firetrial_parser.prose import join_lines, vocabulary_of

_RULE = re.compile(r"(=|-|~|\*|#)\1{2,}$")


def read_text(data: bytes) -> Document:
    """Parse plain text. Raises INVALID for what is no text."""
    source = decode(data)
    return deduce(list(_pieces(source)), data, "text")


def _pieces(source: str) -> Iterator[Heading | Paragraph]:
    vocabulary = vocabulary_of(source.split("\n"))
    groups = [g for g in re.split(r"\n[ \t]*\n|\f", source) if g.strip()]
    for n, group in enumerate(groups):
        lines = [line.strip() for line in group.split("\n") if line.strip()]
        level = _heading_level(lines)
        if n == 0 and len(lines) == 1 and not headings.is_named(lines[0]):
            yield Heading(1, lines[0])
        elif level:
            yield Heading(level + 1, lines[0])
            if len(lines) > 1:
                yield from _paragraphs(lines[1:], vocabulary)
        else:
            yield from _paragraphs(lines, vocabulary)


def _heading_level(lines: list[str]) -> int:
    """1 for a top section, 0 for no heading."""
    first = lines[0]
    if len(first) > headings.MAX_HEADING_CHARS or split_caption(first) is not None:
        return 0
    if headings.is_named(first):
        return 1
    if len(lines) > 1 and _RULE.fullmatch(lines[1]):
        return 1 if lines[1][0] in "=#*" else 2
    number = headings.numbered(first)
    if number is not None and len(lines) == 1 and not first.endswith((".", ",", ";")):
        return number.level
    return 1 if len(lines) == 1 and first.isupper() and len(first) > 3 and first[-1] not in ".,;" else 0


def _paragraphs(lines: list[str], vocabulary: set[str]) -> Iterator[Paragraph]:
    """One paragraph, or several where captions begin at a line's start."""
    group: list[str] = []
    for line in lines:
        if _RULE.fullmatch(line):
            continue
        start = split_caption(line)
        if group and start is not None and start.mark in {":", "|"}:
            yield Paragraph(join_lines(group, vocabulary))
            group = []
        group.append(line)
    if group:
        yield Paragraph(join_lines(group, vocabulary))
