"""PDFs that nobody should have made: bombs, loops, damage, scans, letters without meaning, other scripts."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from unit.parser.paper_pdf import sample

PAGE = "/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792]"
HELVETICA = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def assemble(objects: Mapping[int, str | bytes], *, root: int = 1) -> bytes:
    """A PDF of these objects, numbered as given, with a sound table of where each is."""
    out = b"%PDF-1.7\n"
    offsets: dict[int, int] = {}
    for number, body in objects.items():
        offsets[number] = len(out)
        out += b"%d 0 obj\n" % number + (body.encode() if isinstance(body, str) else body) + b"\nendobj\n"
    size = max(objects) + 1
    start = len(out)
    rows = [
        b"%010d 00000 n \n" % offsets[n] if n in offsets else b"0000000000 65535 f \n" for n in range(size)
    ]
    out += b"xref\n0 %d\n" % size + b"".join(rows)
    return out + b"trailer << /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, root, start)


def stream(data: bytes, entries: str = "") -> bytes:
    """A stream object."""
    return f"<< {entries} /Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream"


def one_page(
    content: bytes | str, resources: str = "", extra: Mapping[int, str | bytes] | None = None
) -> bytes:
    """One page with this content stream; Helvetica is /F1, further objects are numbered from 10."""
    return assemble({
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: f"<< {PAGE} /Resources << /Font << /F1 5 0 R >> {resources} >> /Contents 4 0 R >>",
        4: content if isinstance(content, bytes) and b"stream" in content else stream(_bytes(content)),
        5: HELVETICA,
        **(extra or {}),
    })  # fmt: skip


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


def written(lines: Sequence[str], *, font: str = "F1", hexadecimal: bool = False) -> str:
    """A content stream that writes the lines below one another."""
    shown = (f"<{line}>" if hexadecimal else f"({line})" for line in lines)
    return "BT /" + font + " 10 Tf 72 720 Td 12 TL " + " ".join(f"{text} Tj T*" for text in shown) + " ET"


def scanned(pages: int = 3, cover: Sequence[str] = ()) -> bytes:
    """Pages that are pictures, behind a cover of text where one is given."""
    picture = stream(b"\x80" * 64 * 64, "/Type /XObject /Subtype /Image /Width 64 /Height 64 "
                     "/ColorSpace /DeviceGray /BitsPerComponent 8")  # fmt: skip
    covers = [20] if cover else []
    kids = " ".join(f"{n} 0 R" for n in [*covers, *range(100, 100 + pages)])
    objects: dict[int, str | bytes] = {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {pages + len(covers)} >>",
        5: HELVETICA,
        6: picture,
        7: stream(b"q 500 0 0 700 50 50 cm /Im Do Q"),
        20: f"<< {PAGE} /Resources << /Font << /F1 5 0 R >> >> /Contents 21 0 R >>",
        21: stream(written(cover).encode()),
    }
    for n in range(100, 100 + pages):
        objects[n] = f"<< {PAGE} /Resources << /XObject << /Im 6 0 R >> >> /Contents 7 0 R >>"
    return assemble(objects)


def many_pages(count: int, y: float = 400) -> bytes:
    """So many pages, all of the same little text at this height."""
    kids = " ".join(f"{n} 0 R" for n in range(10, 10 + count))
    text = "A line of text that stands on every page of this file."
    objects: dict[int, str | bytes] = {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        4: stream(f"BT /F1 10 Tf 72 {y} Td ({text}) Tj ET".encode()),
        5: HELVETICA,
    }
    for n in range(10, 10 + count):
        objects[n] = f"<< {PAGE} /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>"
    return assemble(objects)


def flate_bomb(megabytes: int = 2_000) -> bytes:
    """A content stream that unpacks, twice over, to so many megabytes of blanks."""
    packer = zlib.compressobj(9)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * 1024 * 1024) + packer.flush(zlib.Z_FULL_FLUSH)  # the same each time
    once = head + block * megabytes + packer.flush()
    return one_page(stream(zlib.compress(once, 9), "/Filter [/FlateDecode /FlateDecode]"))


def nested(depth: int = 200_000) -> bytes:
    """Arrays in arrays, in the page's content and in an object that the page needs."""
    deep = "[" * depth + "]" * depth
    return one_page(written(["A line of text that can be read."]) + deep, f"/ExtGState {deep}")


def laughing_forms(fan_out: int = 12, depth: int = 12) -> bytes:
    """Drawings of which each draws the next a dozen times."""
    extra: dict[int, str | bytes] = {}
    for n in range(depth):
        entries = (
            "/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> /XObject "
        )
        content = "/X Do " * fan_out + "BT /F1 9 Tf 72 700 Td (ha ) Tj ET"
        extra[10 + n] = stream(
            content.encode(), f"{entries} << /X {11 + n if n + 1 < depth else 10} 0 R >> >>"
        )
    return one_page("/X Do", "/XObject << /X 10 0 R >>", extra)


def looping_pages() -> bytes:
    """A tree of pages that is its own child and its own parent."""
    return assemble({
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Kids [2 0 R 3 0 R 2 0 R] /Count 3 /Parent 2 0 R >>",
        3: "<< /Type /Pages /Kids [2 0 R] /Count 1 /Parent 3 0 R >>",
    })  # fmt: skip


def looping_objects() -> bytes:
    """References that lead to themselves: a length, a font, a content, a filter."""
    return assemble({
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: f"<< {PAGE} /Resources 7 0 R /Contents [4 0 R 8 0 R] >>",
        4: b"<< /Length 6 0 R /Filter 9 0 R >>\nstream\nBT (x) Tj ET\nendstream",
        6: "6 0 R",
        7: "<< /Font << /F1 7 0 R >> /XObject 7 0 R >>",
        8: "[8 0 R 8 0 R]",
        9: "[9 0 R]",
    })  # fmt: skip


def wrong_offsets() -> bytes:
    """A sound paper whose table of objects points at nothing right."""
    head, _, tail = sample().partition(b"xref\n")
    return head + b"xref\n" + tail.replace(b"00000 n", b"00000 f", 3).replace(b"0000000", b"0000999")


def without_table() -> bytes:
    """A sound paper without its table of objects and without where it begins."""
    return sample().partition(b"xref\n")[0]


def unmapped(letters: int = 600) -> bytes:
    """Text in a font that says of no glyph which letter it shows."""
    font = ("<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Odd /Encoding /Identity-H "
            "/DescendantFonts [11 0 R] >>")  # fmt: skip
    line = "".join(f"{n:04X}" for n in range(1, 31))
    content = written([line] * (letters // 30), font="F2", hexadecimal=True)
    return assemble({**_scripted(font), 4: stream(content.encode())})


def scripted(lines: Sequence[tuple[float, float, float, str]]) -> bytes:
    """Text of any script: each line at x, y (from its first letter drawn, left to right) in a size."""
    codes = {letter: n for n, letter in enumerate(sorted({c for *_, text in lines for c in text}), 1)}
    pairs = "\n".join(
        f"<{n:04X}> <{letter.encode('utf-16-be').hex().upper()}>" for letter, n in codes.items()
    )
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        "1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        f"{len(codes)} beginbfchar\n{pairs}\nendbfchar\nendcmap end end"
    )
    font = ("<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Wide /Encoding /Identity-H "
            "/DescendantFonts [11 0 R] /ToUnicode 12 0 R >>")  # fmt: skip
    content = " ".join(
        f"BT /F2 {size} Tf {x} {y} Td <{''.join(f'{codes[c]:04X}' for c in text)}> Tj ET"
        for x, y, size, text in lines
    )
    return assemble({**_scripted(font), 4: stream(content.encode()), 12: stream(cmap.encode())})


def _scripted(font: str) -> dict[int, str | bytes]:
    return {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: f"<< {PAGE} /Resources << /Font << /F2 10 0 R >> >> /Contents 4 0 R >>",
        10: font,
        11: "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /ABCDEF+Wide /DW 1000 /FontDescriptor 13 0 R "
            "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        13: "<< /Type /FontDescriptor /FontName /ABCDEF+Wide /Flags 4 /FontBBox [0 0 1000 1000] "
            "/ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>",
    }  # fmt: skip
