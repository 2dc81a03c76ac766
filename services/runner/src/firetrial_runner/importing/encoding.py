"""Which encoding a log is in, and its bytes as UTF-8.

A byte order mark is believed. Else a file is UTF-8, in which bytes that are none stay as they are, for a
reader to spell them out; in a line that holds more of them than characters, those are chance, and are spelled
out too. Windows-1252 is what a file is taken for only where that cannot make mojibake of it: no byte beyond
ASCII is part of a UTF-8 sequence, each is defined there, at least half of them stand alone (elsewhere they
come in pairs and rows), and no control byte says that it is no text at all.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

PIECE = 64 * 1024

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_DECODED = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")
_UNDECODED = re.compile("[\udc80-\udcff]")
_HIGH = re.compile(rb"[\x80-\xff]+")
_FOREIGN = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x81\x8d\x8f\x90\x9d]")


def encoding_of(path: Path) -> str:
    """ "utf-8", "utf-16-le", "utf-16-be" or "cp1252"."""
    return _looked_at(path)[0]


def as_utf8(path: Path) -> Iterator[bytes]:
    """The file's text in UTF-8, in pieces, without a mark; bytes that are not UTF-8 stay as they are."""
    encoding, skip, mixed = _looked_at(path)
    decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
    with path.open("rb") as file:
        file.seek(skip)
        if mixed:
            yield from map(_without_chance, iter(partial(file.readline, PIECE), b""))
        while piece := file.read(PIECE):
            yield piece if encoding == "utf-8" else _encoded(decoder.decode(piece))
        if encoding != "utf-8":
            yield _encoded(decoder.decode(b"", final=True))


def _looked_at(path: Path) -> tuple[str, int, bool]:
    """(encoding, length of its mark, whether it is UTF-8 with bytes that are none)."""
    with path.open("rb") as file:
        head = file.read(3)
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name, len(mark), False
    decoded, undecoded, western = _weighed(path)
    return "cp1252" if western and undecoded and not decoded else "utf-8", 0, bool(decoded and undecoded)


def _weighed(path: Path) -> tuple[int, int, bool]:
    """(characters beyond ASCII, bytes that are not UTF-8, whether these can be Windows-1252).

    A sequence that the end of the file cuts off is neither.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    decoded = undecoded = alone = runs = 0
    foreign = False
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            foreign = foreign or _FOREIGN.search(piece) is not None
            if piece.isascii() and not decoder.getstate()[0]:
                continue
            good, bad = _counted(decoder.decode(piece))
            decoded, undecoded = decoded + good, undecoded + bad
            lengths = [len(found) for found in _HIGH.findall(piece)]
            alone, runs = alone + lengths.count(1), runs + len(lengths)
    return decoded, undecoded, not foreign and 2 * alone >= runs


def _without_chance(line: bytes) -> bytes:
    if line.isascii():
        return line
    good, bad = _counted(line.decode("utf-8", "surrogateescape"))
    return line.decode("ascii", "backslashreplace").encode() if bad > good else line


def _counted(text: str) -> tuple[int, int]:
    """(characters beyond ASCII, undecoded bytes)."""
    return len(_DECODED.findall(text)), len(_UNDECODED.findall(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
