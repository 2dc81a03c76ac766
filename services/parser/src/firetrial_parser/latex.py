"""LaTeX in, document out: one file, or an archive as arXiv hands it out. Nothing in it is run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from firetrial_parser.assembling import Cells, Front, Paragraph, Piece, assemble
from firetrial_parser.bibliography import entries
from firetrial_parser.bundle import sources
from firetrial_parser.document import Document
from firetrial_parser.front import is_name
from firetrial_parser.intake import decode, packing, refuse
from firetrial_parser.macros import expand, whole, without_comments
from firetrial_parser.manuscript import Manuscript
from firetrial_parser.stamp import style_venue
from firetrial_parser.tex import argument, optional, plain

_CLASS = re.compile(r"\\document(?:class|style)\b")
_INPUTS = re.compile(r"\\(?:input|include|subfile)\s*\{?([^{}\s]{1,200})")
_USUAL = ("main", "ms", "paper", "arxiv", "root", "manuscript", "article")


def read_latex(data: bytes) -> Document:
    """Parse a LaTeX source or an archive of sources.

    Raises INVALID for archives that are damaged, hostile or hold no paper, and for sources without text.
    """
    files = sources(data) if packing(data) else {"main.tex": decode(data)}
    main = main_file(files)
    source = expand(whole(main, files))
    begin = re.search(r"\\begin\s*\{document\}", source)
    head, body = (source[: begin.start()], source[begin.end() :]) if begin else ("", source)
    body = body.partition(r"\end{document}")[0]
    manuscript = Manuscript(entries(main, files, body))
    manuscript.read(body)
    pieces = manuscript.pieces()
    return assemble(pieces, _front(head, body, pieces), data, "latex")


def main_file(files: Mapping[str, str]) -> str:
    """The file that is the paper: a document that no other puts in, of a usual name, then the longest.

    Raises INVALID where none can be told.
    """
    texts = {n: without_comments(text) for n, text in files.items() if n.endswith((".tex", ".ltx"))}
    whole_ones = [name for name, text in texts.items() if _CLASS.search(text)]
    put_in = {PurePosixPath(name).stem for text in texts.values() for name in _INPUTS.findall(text)}
    free = [name for name in whole_ones if PurePosixPath(name).stem not in put_in] or whole_ones
    if not free and len(texts) == 1:
        return next(iter(texts))
    if not free:
        names = ", ".join(sorted(texts)[:10])
        raise refuse("file", names, r"none of them has a \documentclass; give the whole source")
    return max(free, key=lambda name: _rank(name, files, texts[name]))


def _rank(name: str, files: Mapping[str, str], text: str) -> tuple[bool, bool, int]:
    stem = PurePosixPath(name).stem.lower()
    return str(PurePosixPath(name).with_suffix(".bbl")) in files, stem in _USUAL, len(text)


# ---- front


def _front(head: str, body: str, pieces: list[Piece]) -> Front:
    source = head + body
    titles = _arguments(source, "title") or _arguments(source, "icmltitle")
    venue, year = style_venue(head)
    return Front(
        title=plain(re.sub(r"\\\\", " ", titles[0])) if titles else "",
        authors=_authors(source),
        abstract=_abstract(pieces),
        venue=venue,
        year=year,
    )


def _arguments(source: str, command: str) -> list[str]:
    found: list[str] = []
    at = 0
    while (match := re.compile(rf"\\{command}\b\s*(?=[\[{{])").search(source, at)) is not None:
        text, at = argument(source, optional(source, match.end())[1])
        found.append(text)
    return found


def _authors(source: str) -> tuple[str, ...]:
    names: list[str] = []
    for raw in _arguments(source, "author") + _arguments(source, "icmlauthor"):
        text = re.sub(
            r"\$[^$]{0,200}\$|\\textsuperscript\s*\{[^{}]*\}|\\(?:inst|affil\w*)\s*\{[^{}]*\}", " ", raw
        )
        parts = re.split(r"\\\\|\\(?:and|And|AND|quad|qquad|hspace\*?\{[^{}]*\})\b|[,;&\n]", text)
        names += [name for part in parts if is_name(name := plain(part).strip(" .*†‡"))]
    return tuple(dict.fromkeys(names))


def _abstract(pieces: list[Piece]) -> str:
    under: list[str] = []
    inside = False
    for piece in pieces:
        if not isinstance(piece, Paragraph | Cells):
            inside = getattr(piece, "text", "") == "Abstract"
        elif inside and isinstance(piece, Paragraph):
            under.append(piece.text)
    return " ".join(under)
