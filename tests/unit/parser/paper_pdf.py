"""Small PDFs made by hand, so that tests say themselves what stands where on a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

WIDTH, HEIGHT = 612, 792

_FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Times-Roman"}


@dataclass(frozen=True)
class Put:
    """A line of text at x, y (points from the lower left)."""

    x: float
    y: float
    text: str
    size: float = 10
    font: Literal["F1", "F2", "F3"] = "F1"


def paragraph(x: float, y: float, lines: Iterable[str], *, size: float = 10, step: float = 12) -> list[Put]:
    """Lines below one another, beginning at y."""
    return [Put(x, y - i * step, line, size) for i, line in enumerate(lines)]


def pdf(pages: Sequence[Sequence[Put]], *, encrypted: bool = False) -> bytes:
    """A whole PDF. `encrypted` asks for a password that nobody knows."""
    fonts = {f"{name}": 3 + i for i, name in enumerate(_FONTS)}
    first = 3 + len(fonts)
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    objects += [
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding /WinAnsiEncoding >>"
        for base in _FONTS.values()
    ]
    resources = " ".join(f"/{name} {number} 0 R" for name, number in fonts.items())
    for i, page in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] "
            f"/Resources << /Font << {resources} >> >> /Contents {first + 2 * i + 1} 0 R >>"
        )
        stream = "\n".join(map(_show, page))
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    extra = ""
    if encrypted:
        key = "<" + "41" * 32 + ">"
        extra = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O {key} /U {key} /P -4 >> /ID [<00> <00>]"
    return _assemble(objects, extra)


def _show(put: Put) -> str:
    text = put.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{put.font} {put.size} Tf {put.x} {put.y} Td ({text}) Tj ET"


def _assemble(objects: Sequence[str], extra: str) -> bytes:
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R {extra} >>\nstartxref\n{start}\n%%EOF\n"
    return out + trailer.encode()


FINDING = "Accuracy falls from 90.1% to 55.4% as noise grows (Table 1)."


def sample() -> bytes:
    """Two pages: title, authors, abstract, two numbered sections, a table caption and a figure caption."""
    first = [
        Put(150, 720, "A Small Study of Noise in Labels", 18, "F2"),
        Put(200, 690, "Ada Byron, Alan Turing"),
        Put(280, 650, "Abstract", 12, "F2"),
        *paragraph(
            72, 630, ["We study what wrong labels do to simple classifiers, and how much", "they lose."]
        ),
        Put(72, 590, "1 Introduction", 12, "F2"),
        *paragraph(
            72, 570, ["Labels are often wrong. We ask what that does to classi-", "fiers of this kind."]
        ),
        Put(300, 40, "1"),
    ]
    second = [
        Put(72, 700, "2 Results", 12, "F2"),
        *paragraph(72, 680, [FINDING, "Figure 1 shows that larger neighbourhoods lose less accuracy."]),
        Put(72, 620, "Table 1: Accuracy in percent by share of wrong labels.", 9),
        Put(72, 560, "Figure 1: Accuracy lost, in percentage points, for each", 9),
        Put(72, 549, "number of neighbours.", 9),
        Put(300, 40, "2"),
    ]
    return pdf([first, second])
