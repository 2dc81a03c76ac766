"""Which encoding a log is in, and its bytes as UTF-8.

A byte order mark is believed. Else a file is UTF-8, in which bytes that are none stay as they are, for a
reader to spell them out. Windows-1252 is what a file is taken for only where that cannot make mojibake of it:
no byte beyond ASCII is part of a UTF-8 sequence, each is defined there, at least half of them stand alone (in
other encodings they come in pairs and rows), and no control byte says that it is no text at all.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

PIECE = 256 * 1024

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_DECODED = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")
_HIGH = re.compile(rb"[\x80-\xff]+")
_FOREIGN = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x81\x8d\x8f\x90\x9d]")


def encoding_of(path: Path) -> str:
    """ "utf-8", "utf-16-le", "utf-16-be" or "cp1252"."""
    name, _ = _mark(path)
    return name or ("cp1252" if _is_western(path) else "utf-8")


def as_utf8(path: Path) -> Iterator[bytes]:
    """The file's text in UTF-8, in pieces, without a mark; bytes that are not UTF-8 stay as they are."""
    encoding = encoding_of(path)
    decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
    with path.open("rb") as file:
        file.seek(_mark(path)[1])
        while piece := file.read(PIECE):
            yield piece if encoding == "utf-8" else _encoded(decoder.decode(piece))
        if encoding != "utf-8":
            yield _encoded(decoder.decode(b"", final=True))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _mark(path: Path) -> tuple[str, int]:
    """(the encoding that a byte order mark says, the mark's length)."""
    with path.open("rb") as file:
        head = file.read(3)
    return next(((name, len(mark)) for mark, name in _MARKS.items() if head.startswith(mark)), ("", 0))


def _is_western(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    alone = runs = undecoded = 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            if piece.isascii() and not _FOREIGN.search(piece) and not decoder.getstate()[0]:
                continue
            text = decoder.decode(piece)
            if _DECODED.search(text) or _FOREIGN.search(piece):
                return False
            undecoded += sum("\udc80" <= letter <= "\udcff" for letter in text)
            lengths = [len(found) for found in _HIGH.findall(piece)]
            alone += lengths.count(1)
            runs += len(lengths)
    return undecoded > 0 and 2 * alone >= runs
