"""PDF in, document out. PDFium does the decoding; what its text means is `layout` and `structure`."""

from __future__ import annotations

import ctypes
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from firetrial_parser.captions import split_caption
from firetrial_parser.document import Document
from firetrial_parser.glyphs import LIGATURES, Font, Glyph, Rule, combine_accents, lines
from firetrial_parser.intake import refuse
from firetrial_parser.layout import (
    PageLines,
    blocks,
    in_reading_order,
    leading,
    margins,
    page_text,
    without_furniture,
)
from firetrial_parser.stamp import arxiv_id, venue_and_year
from firetrial_parser.structure import structure
from firetrial_parser.tables import tables

MAX_PAGES = 2000
MAX_CHARS = 20_000_000
FEWEST_CHARS_PER_PAGE = (
    20  # a page with fewer is bare; with more than half of the pages bare there is no text
)
UNMAPPED = 0.5  # with a larger share of characters that no font maps to a letter, the text means nothing
BLANKS = frozenset([0, 9, 10, 13, 32, 0xA0, 0x200B, 0xFEFF])
MAX_OBJECTS = 20_000  # drawn objects of a page that are looked at for the rules of its tables
THIN, SHORT = 3.0, 10.0  # points: a rule is thinner and longer
FORCE_BOLD = 1 << 18  # PDF 32000-1, table 123

_BOLD_NAME = re.compile(r"(?i)bold|black|heavy|medi(?:um)?\b|semibold|demi|-bd\b|bx\d*$|\.b$")


def read_pdf(data: bytes) -> Document:
    """Parse a PDF.

    Raises INVALID for a file that is encrypted, damaged, without pages or text, or beyond the limits.
    """
    pages, stamp = _pages(data)
    clean = without_furniture(pages)
    step = leading(clean)
    found = [in_reading_order(page, blocks(page, step)) for page in clean]
    parts = structure([block for page in found for block in page])
    texts = tuple(page_text(page) for page in found)
    if not any(map(str.strip, texts)):
        raise refuse(
            "file", "the same lines on each page", "only running heads were found; give the paper itself"
        )
    venue, year = venue_and_year("\n".join([*(line for page in pages[:3] for line in margins(page)), stamp]))
    return Document(
        sha256=hashlib.sha256(data).hexdigest(),
        format="pdf",
        title=parts.title,
        abstract=parts.abstract,
        authors=parts.authors,
        sections=parts.sections,
        captions=parts.captions,
        pages=texts,
        arxiv_id=arxiv_id(stamp) or arxiv_id(texts[0]),
        tables=tables(clean, found, parts.captions),
        references=parts.references,
        venue=venue,
        year=year,
    )


@dataclass(slots=True)
class _Tally:
    """What was counted of all pages: visible characters, those that no font maps to a letter, bare pages."""

    characters: int = 0
    unmapped: int = 0
    bare: int = 0

    def add(self, glyphs: int) -> None:
        self.bare += glyphs < FEWEST_CHARS_PER_PAGE

    def check(self, pages: int) -> None:
        if self.characters and self.unmapped > UNMAPPED * self.characters:
            cure = "its fonts do not say which letters they show; run OCR on it, or give its source"
            raise refuse("file", f"{self.unmapped} of {self.characters} characters without a letter", cure)
        if 2 * self.bare > pages:
            cure = "no text layer: run OCR on the scan first"
            raise refuse("file", f"{self.bare} of {pages} pages without text", cure)
        if self.characters > MAX_CHARS:
            cure = f"split it: at most {MAX_CHARS} characters are read"
            raise refuse("file", f"{self.characters} characters", cure)


def _pages(data: bytes) -> tuple[list[PageLines], str]:
    """The lines of each page, and the text that stands on its side on the first (the arXiv stamp)."""
    document = _open(data)
    try:
        if len(document) == 0:
            raise refuse("file", "0 pages", "the PDF has no pages; give the complete file")
        if len(document) > MAX_PAGES:
            raise refuse("file", f"{len(document)} pages", f"split it: at most {MAX_PAGES} pages are read")
        pages: list[PageLines] = []
        stamp, tally = "", _Tally()
        for index in range(len(document)):
            page, aside = _page(document, index, tally)
            stamp = aside if index == 0 else stamp
            pages.append(page)
        tally.check(len(pages))
        return pages, stamp
    finally:
        document.close()


def _open(data: bytes) -> Any:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if (
            getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD
            or "password" in str(error).lower()
        ):
            raise refuse(
                "file", "encrypted PDF", "remove the password (for instance `qpdf --decrypt`)"
            ) from error
        raise refuse("file", str(error), "the PDF is damaged or cut off; fetch it again") from error


def _page(document: Any, index: int, tally: _Tally) -> tuple[PageLines, str]:
    try:
        page = document[index]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError as error:
        raise refuse(
            "file", f"page {index + 1}: {error}", "the page is damaged; fetch the PDF again"
        ) from error
    width, height = page.get_size()
    by_turn: dict[int, list[Glyph]] = {0: [], 1: [], 3: []}
    for glyph, turn in _glyphs(text_page, width, height, tally):
        by_turn[turn].append(glyph)
    tally.add(sum(map(len, by_turn.values())))
    turned = lines([*by_turn[1], *by_turn[3]])
    stamp = " ".join(line.text for line in turned)
    turn = max(by_turn, key=lambda t: len(by_turn[t]))
    found = lines(combine_accents(by_turn[0]))
    kept = any(start.kind == "table" for line in (*found, *turned) if (start := split_caption(line.text)))
    glyphs = by_turn[turn] if kept else []
    rules = _rules(page, turn, width, height) if kept else []
    if turn:
        found = [*turned, *found]
        width, height = height, width
    return PageLines(index + 1, width, height, tuple(found), tuple(rules), tuple(glyphs)), stamp


def _rules(page: Any, turn: int, width: float, height: float) -> list[Rule]:
    """The lines that are horizontal when the page is turned so that its text is upright."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    found: list[Rule] = []
    for i in range(min(pdfium.FPDFPage_CountObjects(page.raw), MAX_OBJECTS)):
        drawn = pdfium.FPDFPage_GetObject(page.raw, i)
        if pdfium.FPDFPageObj_GetType(drawn) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        if not pdfium.FPDFPageObj_GetBounds(drawn, left, bottom, right, top):
            continue
        x0, x1, y0, y1 = left.value, right.value, bottom.value, top.value
        if turn == 1:
            x0, x1, y0, y1 = y0, y1, width - x1, width - x0
        elif turn == 3:
            x0, x1, y0, y1 = height - y1, height - y0, x0, x1
        if y1 - y0 < THIN and x1 - x0 > SHORT:
            found.append(Rule(x0, x1, (y0 + y1) / 2))
    return found


# As in `pypdfium2.raw`, but objects are told apart by plain numbers: a pointer for each character is slow.
_text_object = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(
    ctypes.cast(pdfium.FPDFText_GetTextObject, ctypes.c_void_p).value or 0
)


def _glyphs(text_page: Any, width: float, height: float, tally: _Tally) -> Iterator[tuple[Glyph, int]]:
    """Each visible character with its turn in quarters: 0 upright, 1 and 3 on its side.

    Places are those on a page that is turned so that the character is upright.
    """
    raw, box, x, y = text_page.raw, pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    faces: dict[int | None, tuple[Font, int, bool]] = {}
    space, high = False, 0
    for i in range(text_page.count_chars()):
        code = pdfium.FPDFText_GetUnicode(raw, i)
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        text, high = _supplementary(code, high) if 0xDC00 <= code < 0xE000 else _character(code), 0
        if not text and code in BLANKS:
            space = True
            continue
        key = _text_object(raw, i)
        if key not in faces:
            faces[key] = _face(text_page, i)
        font, turn, mapped = faces[key]
        tally.characters += 1
        tally.unmapped += not mapped
        if not text:
            space = True
            continue
        if turn == 2 or not pdfium.FPDFText_GetLooseCharBox(raw, i, box):
            continue
        pdfium.FPDFText_GetCharOrigin(raw, i, x, y)
        if turn == 0:
            left, right, base = box.left, box.right, y.value
        elif turn == 1:
            left, right, base = box.bottom, box.top, width - x.value
        else:
            left, right, base = height - box.top, height - box.bottom, x.value
        yield Glyph(text, left, right, base, font, space), turn
        space = False


@lru_cache(maxsize=8192)
def _character(code: int) -> str:
    """The text of a UTF-16 unit that is a whole character; "" for what cannot be seen."""
    text = chr(code).translate(LIGATURES) if 0 < code < 0x110000 else ""
    return text if text.strip() and text.isprintable() else ""


def _supplementary(low: int, high: int) -> str:
    """The text of a pair of surrogates; "" for half a pair."""
    # Letters of the mathematical alphabets are plain letters to a reader of the text.
    text = (
        unicodedata.normalize("NFKC", chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00)) if high else ""
    )
    return text if text.strip() and text.isprintable() else ""


def _face(text_page: Any, i: int) -> tuple[Font, int, bool]:
    """The face and turn of a character, and whether its font says which letter it is."""
    name, flags, matrix = ctypes.create_string_buffer(128), ctypes.c_int(), pdfium.FS_MATRIX()
    pdfium.FPDFText_GetFontInfo(text_page, i, name, 128, flags)
    pdfium.FPDFText_GetMatrix(text_page, i, matrix)
    face = name.value.decode("latin-1").split("+")[-1]
    size = pdfium.FPDFText_GetFontSize(text_page, i) * (matrix.c**2 + matrix.d**2) ** 0.5
    bold = bool(_BOLD_NAME.search(face)) or bool(flags.value & FORCE_BOLD and "Regu" not in face)
    mapped = pdfium.FPDFText_HasUnicodeMapError(text_page, i) != 1
    return Font(face, round(size, 1), bold), _turn(matrix), mapped


def _turn(matrix: Any) -> int:
    if abs(matrix.b) > abs(matrix.a):
        return 1 if matrix.b > 0 else 3
    return 0 if matrix.a >= 0 else 2
