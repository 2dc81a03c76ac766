"""HTML in, document out: what LaTeXML makes of arXiv's sources, and plain pages with headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firetrial_parser.assembling import (
    Captioned,
    Cells,
    Front,
    Heading,
    Paragraph,
    Piece,
    Reference,
    assemble,
)
from firetrial_parser.captions import split_caption
from firetrial_parser.document import Document
from firetrial_parser.dom import Element, TooManyError, parse_html
from firetrial_parser.front import is_name, without_marks
from firetrial_parser.intake import decode, refuse
from firetrial_parser.markdown import deduce
from firetrial_parser.stamp import arxiv_id, venue_and_year
from firetrial_parser.tex import plain

MAX_SPAN = 100  # columns that one cell may span

_HEADINGS = {f"h{n}": n for n in range(1, 7)}
_LEVELS = {"part": 1, "section": 1, "appendix": 1, "bibliography": 1, "subsection": 2, "subsubsection": 3}
_SKIPPED = frozenset(
    [
        "script",
        "style",
        "nav",
        "footer",
        "template",
        "svg",
        "noscript",
        "button",
        "head",
        "iframe",
        "object",
        "form",
    ]
)
_SKIPPED_CLASSES = frozenset(
    ["ltx_page_footer", "ltx_page_navbar", "ltx_TOC", "ltx_note", "ltx_ERROR", "ltx_dates", "ltx_tag_item"]
)
_BLOCKS = frozenset(
    [
        "div",
        "section",
        "article",
        "main",
        "body",
        "html",
        "ul",
        "ol",
        "dl",
        "blockquote",
        "header",
        "aside",
        "center",
    ]
)
_LEAVES = frozenset(["p", "li", "dt", "dd", "pre", "td"])
_BLOCK_TAGS = (
    _BLOCKS | _LEAVES | _SKIPPED | set(_HEADINGS) | {"figure", "table", "figcaption", "caption", "tr"}
)
_BLOCK_CLASSES = frozenset(["ltx_tabular", "ltx_para", "ltx_p", "ltx_authors", "ltx_bibblock", "ltx_title"])


def read_html(data: bytes) -> Document:
    """Parse HTML. Raises INVALID for what is no text, has none, or has more elements than a paper."""
    source = decode(data)
    try:
        root = parse_html(source)
    except TooManyError as error:
        raise refuse("file", str(error), "give the paper's own page, without what surrounds it") from error
    papers = root.find(lambda e: "ltx_document" in e.classes)
    if not papers:
        return deduce(list(_pieces(root)), data, "html")
    return assemble(list(_pieces(papers[0])), _front(papers[0], source), data, "html")


def _front(paper: Element, source: str) -> Front:
    venue, year = venue_and_year(source[:20_000])
    names = paper.find(lambda e: "ltx_personname" in e.classes)
    return Front(
        title=_first(paper, "ltx_title_document"),
        authors=tuple(dict.fromkeys(name for e in names for name in _names(e))),
        abstract=_abstract(paper),
        arxiv_id=arxiv_id(source[:20_000]),
        venue=venue,
        year=year,
    )


def _first(paper: Element, name: str) -> str:
    found = paper.find(lambda e: name in e.classes)
    return text_of(found[0]) if found else ""


def _names(person: Element) -> Iterator[str]:
    """The names of a "person" of LaTeXML, which often holds all authors, parted by breaks and commas."""
    parts = (
        child if isinstance(child, str) else "," if child.tag == "br" else text_of(child)
        for child in person.children
    )
    for part in re.split(r",|;|&|\band\b", " ".join("".join(parts).split())):
        if is_name(name := without_marks(part)):
            yield name


def _abstract(paper: Element) -> str:
    found = paper.find(lambda e: "ltx_abstract" in e.classes)
    paragraphs = found[0].find(lambda e: e.tag == "p") if found else []
    return " ".join(filter(None, map(text_of, paragraphs)))


# ---- pieces


def _skipped(element: Element) -> bool:
    hidden = "hidden" in element.attributes or "display:none" in element.attributes.get("style", "").replace(
        " ", ""
    )
    return element.tag in _SKIPPED or bool(element.classes & _SKIPPED_CLASSES) or hidden


def _pieces(element: Element) -> Iterator[Piece]:
    """The pieces of an element's children; text between blocks is a paragraph of its own."""
    loose: list[Element | str] = []
    for child in element.children:
        if isinstance(child, str) or not _is_block(child):
            loose.append(child)
            continue
        yield from _loose(loose)
        loose = []
        if not _skipped(child):
            yield from _block(child)
    yield from _loose(loose)


def _is_block(element: Element) -> bool:
    """Whether an element parts the text around it, itself or by what is in it."""
    if element.block is None:
        element.block = (
            element.tag in _BLOCK_TAGS
            or not _BLOCK_CLASSES.isdisjoint(element.classes)
            or any(_is_block(child) for child in element.elements)
        )
    return element.block


def _loose(parts: list[Element | str]) -> Iterator[Piece]:
    text = text_of(Element("", {}, parts))
    if any(map(str.isalnum, text)):
        yield Paragraph(text)


def _block(element: Element) -> Iterator[Piece]:
    classes = element.classes
    if element.tag in _HEADINGS or "ltx_title" in classes:
        yield from _heading(element)
    elif "ltx_authors" in classes:
        return
    elif "ltx_bibitem" in classes:
        yield Reference(_reference(element))
    elif element.tag == "figure":
        yield from _figure(element)
    elif element.tag == "table" or "ltx_tabular" in classes:
        yield from _table(element)
    elif element.tag in _LEAVES and not any(_is_block(child) for child in element.elements):
        yield from _loose(list(element.children))
    else:
        yield from _pieces(element)


def _heading(element: Element) -> Iterator[Piece]:
    kinds = [name.removeprefix("ltx_title_") for name in element.classes if name.startswith("ltx_title_")]
    kind = next(iter(kinds), "")
    text = text_of(element)
    if kind == "document" or not text:
        return
    if kind in {"paragraph", "subparagraph", "theorem", "proof"}:
        yield Paragraph(text)
    else:
        yield Heading(_LEVELS.get(kind, 1) if kind else _HEADINGS.get(element.tag, 1), text)


def _reference(element: Element) -> str:
    blocks = element.find(lambda e: "ltx_bibblock" in e.classes)
    return " ".join(filter(None, map(text_of, blocks))) or text_of(element)


def _figure(element: Element) -> Iterator[Piece]:
    """The captions and tables of a float; figures in it may have labels of their own."""
    captions = [c for c in element.elements if c.tag == "figcaption" or "ltx_caption" in c.classes]
    start = split_caption(text_of(captions[0])) if captions else None
    inner = [c for c in element.children if c not in captions]
    if start is not None:
        yield Captioned(start.label, start.kind, start.rest)
    elif captions and not element.find(lambda e: e.tag == "figure"):
        yield from _loose(list(captions))
    label = start.label if start is not None and start.kind == "table" else ""
    for piece in _pieces(Element("div", {}, inner)):
        if isinstance(piece, Cells) and label:
            yield Cells(piece.rows, piece.header_rows, label)
        elif isinstance(piece, Captioned | Cells):
            yield piece


def _table(element: Element) -> Iterator[Piece]:
    caption = next((c for c in element.elements if c.tag == "caption"), None)
    start = split_caption(text_of(caption)) if caption is not None else None
    if start is not None:
        yield Captioned(start.label, start.kind, start.rest)
    rows = element.find(lambda e: e.tag == "tr" or "ltx_tr" in e.classes, lambda e: not _is_table(e))
    cells = [[*_row(row)] for row in rows]
    if "ltx_eqn_table" in element.classes or "ltx_equation" in element.classes:
        yield from _loose([" ".join(text for row in cells for text in row)])
    elif cells:
        heads = [all(_is_head(cell) for cell in _cells(row)) for row in rows]
        count = heads.index(False) if False in heads else 0
        yield Cells(tuple(map(tuple, cells)), count, start.label if start else "")


def _is_table(element: Element) -> bool:
    return element.tag == "table" or "ltx_tabular" in element.classes


def _cells(row: Element) -> list[Element]:
    return row.find(lambda e: e.tag in {"td", "th"} or "ltx_td" in e.classes)


def _is_head(cell: Element) -> bool:
    return bool(cell.classes & {"ltx_th_column"}) or (cell.tag == "th" and "ltx_th_row" not in cell.classes)


def _row(row: Element) -> Iterator[str]:
    for cell in _cells(row):
        span = cell.attributes.get("colspan", "1")
        yield text_of(cell)
        yield from [""] * (min(int(span), MAX_SPAN) - 1 if span.isdecimal() and len(span) < 9 else 0)


# ---- text


def text_of(element: Element) -> str:
    """The text of an element: formulas as text, footnotes and what is hidden left out, blanks made one."""
    return " ".join("".join(_text(element)).split())


def _text(element: Element) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, str):
            yield child
        elif child.tag == "math":
            yield plain(child.attributes["alttext"]) if "alttext" in child.attributes else _symbols(child)
        elif child.tag in {"br", "p", "div", "li", "td", "th", "tr"}:
            yield " "
            yield from () if _skipped(child) else _text(child)
            yield " "
        elif not _skipped(child):
            yield from _text(child)


def _symbols(formula: Element) -> str:
    """What a formula without TeX shows; its annotations are the same again in other notations."""
    parts = (
        child if isinstance(child, str) else "" if child.tag.startswith("annotation") else _symbols(child)
        for child in formula.children
    )
    return "".join("".join(parts).split())
