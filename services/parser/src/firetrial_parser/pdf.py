"""PDF in, document out. PDFium does the decoding; what its text means is `layout` and `structure`."""

from __future__ import annotations

import ctypes
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from firetrial_parser.document import Document
from firetrial_parser.glyphs import LIGATURES, Font, Glyph, Line, combine_accents, lines
from firetrial_parser.intake import refuse
from firetrial_parser.layout import Block, PageLines, blocks, in_reading_order, leading, without_furniture
from firetrial_parser.structure import structure

MAX_PAGES = 2000
MAX_CHARS = 20_000_000
FEWEST_CHARS_PER_PAGE = 20  # under this average there is no text layer worth the name
FORCE_BOLD = 1 << 18  # PDF 32000-1, table 123

_BOLD_NAME = re.compile(r"(?i)bold|black|heavy|medi(?:um)?\b|semibold|demi|-bd\b|bx\d*$|\.b$")
_ARXIV = re.compile(r"arXiv:\s?(\d{4}\.\d{4,5}|[a-z\-]+/\d{7})", re.IGNORECASE)


def read_pdf(data: bytes) -> Document:
    """Parse a PDF.

    Raises INVALID for a file that is encrypted, damaged, without pages or text, or beyond the limits.
    """
    pages, stamp = _pages(data)
    clean = without_furniture(pages)
    step = leading(clean)
    found = [in_reading_order(page, blocks(page, step)) for page in clean]
    parts = structure([block for page in found for block in page])
    texts = tuple("\n".join(_block_text(b) for b in page) for page in found)
    arxiv = _ARXIV.search(stamp) or _ARXIV.search(texts[0] if texts else "")
    return Document(
        sha256=hashlib.sha256(data).hexdigest(),
        format="pdf",
        title=parts.title,
        abstract=parts.abstract,
        authors=parts.authors,
        sections=parts.sections,
        captions=parts.captions,
        pages=texts,
        arxiv_id=arxiv[1] if arxiv else "",
    )


def _block_text(block: Block) -> str:
    return "\n".join(line.text for line in block.lines)


def _pages(data: bytes) -> tuple[list[PageLines], str]:
    """The lines of each page, and the text that stands on its side on the first (the arXiv stamp)."""
    document = _open(data)
    try:
        if len(document) == 0:
            raise refuse("file", "0 pages", "the PDF has no pages; give the complete file")
        if len(document) > MAX_PAGES:
            raise refuse("file", f"{len(document)} pages", f"split it: at most {MAX_PAGES} pages are read")
        pages: list[PageLines] = []
        stamp, chars = "", 0
        for index in range(len(document)):
            page, aside = _page(document, index)
            stamp = aside if index == 0 else stamp
            chars += sum(len(line.text) for line in page.lines)
            pages.append(page)
        if chars < FEWEST_CHARS_PER_PAGE * len(pages):
            raise refuse(
                "file",
                f"{chars} characters on {len(pages)} pages",
                "no text layer: run OCR on the scan first",
            )
        if chars > MAX_CHARS:
            raise refuse("file", f"{chars} characters", f"split it: at most {MAX_CHARS} characters are read")
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


def _page(document: Any, index: int) -> tuple[PageLines, str]:
    try:
        page = document[index]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError as error:
        raise refuse(
            "file", f"page {index + 1}: {error}", "the page is damaged; fetch the PDF again"
        ) from error
    width, height = page.get_size()
    upright: list[Glyph] = []
    turned: list[Glyph] = []
    for glyph, turn in _glyphs(text_page):
        (turned if turn else upright).append(glyph)
    aside = lines(turned)
    found = lines(combine_accents(upright))
    stamp = " ".join(line.text for line in aside)
    if len(turned) > len(upright):
        found, width, height = [*_lifted(aside), *found], height, width
    return PageLines(index + 1, width, height, tuple(found)), stamp


def _lifted(aside: list[Line]) -> list[Line]:
    """Lines of a page that is set sideways, moved into positive coordinates."""
    low = min(line.y for line in aside)
    return [
        Line(a.text, a.x0, a.x1, a.y - min(low, 0), a.font, a.top_size, a.bold, a.bold_head, a.marked)
        for a in aside
    ]


def _glyphs(text_page: Any) -> Iterator[tuple[Glyph, int]]:
    """Each visible character with its turn in quarters: 0 upright, 1 and 3 on its side."""
    box, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    faces: dict[int | None, tuple[Font, int]] = {}
    space, high = False, 0
    for i in range(text_page.count_chars()):
        code = pdfium.FPDFText_GetUnicode(text_page, i)
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        text, high = _character(code, high), 0
        if not text.strip() or not text.isprintable():
            space = True
            continue
        key = ctypes.cast(pdfium.FPDFText_GetTextObject(text_page, i), ctypes.c_void_p).value
        if key not in faces:
            faces[key] = _face(text_page, i)
        font, turn = faces[key]
        if turn == 2 or not pdfium.FPDFText_GetLooseCharBox(text_page, i, box):
            continue
        pdfium.FPDFText_GetCharOrigin(text_page, i, x, y)
        if turn == 0:
            glyph = Glyph(text, box.left, box.right, y.value, font, space)
        elif turn == 1:
            glyph = Glyph(text, box.bottom, box.top, -x.value, font, space)
        else:
            glyph = Glyph(text, -box.top, -box.bottom, x.value, font, space)
        yield glyph, turn
        space = False


def _character(code: int, high: int) -> str:
    """The text of a UTF-16 unit (`high` is the surrogate before it, or 0); "" for half a character."""
    if 0xDC00 <= code < 0xE000:
        # Letters of the mathematical alphabets are plain letters to a reader of the text.
        whole = chr(0x10000 + ((high - 0xD800) << 10) + code - 0xDC00) if high else ""
        return unicodedata.normalize("NFKC", whole)
    return chr(code).translate(LIGATURES) if 0 < code < 0x110000 else ""


def _face(text_page: Any, i: int) -> tuple[Font, int]:
    name, flags, matrix = ctypes.create_string_buffer(128), ctypes.c_int(), pdfium.FS_MATRIX()
    pdfium.FPDFText_GetFontInfo(text_page, i, name, 128, flags)
    pdfium.FPDFText_GetMatrix(text_page, i, matrix)
    face = name.value.decode("latin-1").split("+")[-1]
    size = pdfium.FPDFText_GetFontSize(text_page, i) * (matrix.c**2 + matrix.d**2) ** 0.5
    bold = bool(_BOLD_NAME.search(face)) or bool(flags.value & FORCE_BOLD and "Regu" not in face)
    return Font(face, round(size, 1), bold), _turn(matrix)


def _turn(matrix: Any) -> int:
    if abs(matrix.b) > abs(matrix.a):
        return 1 if matrix.b > 0 else 3
    return 0 if matrix.a >= 0 else 2
