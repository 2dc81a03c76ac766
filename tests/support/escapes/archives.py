"""Archives that strangers hand in as data or as an agent's files, and that must not be unpacked."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable

from support.tars import special, tarred


def _claims(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A header that claims more than follows."""
    info = special("big", kind)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def _sparse() -> bytes:
    """A member of 3 GiB in an archive of 1 KiB (GNU's old format: one hole to the very end)."""
    info = special("sparse", tarfile.GNUTYPE_SPARSE)
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    size = 3 * 1024**3
    head[386:410] = f"{size:011o}\0{0:011o}\0".encode()
    head[483:495] = f"{size:011o}\0".encode()
    head[148:156] = b" " * 8
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    return bytes(head) + bytes(1024)


def _many(count: int) -> bytes:
    return gzip.compress(tarfile.TarInfo("x").tobuf() * count + bytes(1024), 1)


def _nested() -> bytes:
    """Headers that announce headers, deeper than a reader that calls itself goes."""
    return special("././@LongLink", tarfile.GNUTYPE_LONGNAME).tobuf(tarfile.GNU_FORMAT) * 20_000 + bytes(1024)


def _named(name: str) -> Callable[[], bytes]:
    return lambda: tarred((name, b"planted"))


def _special(kind: bytes, target: str = "") -> Callable[[], bytes]:
    return lambda: tarred((special("thing", kind, target), b""))


def _through_link() -> bytes:
    return tarred((special("out", tarfile.SYMTYPE, "../../.."), b""), ("out/planted", b"planted"))


def _file_then_folder() -> bytes:
    return tarred(("a", b"x"), ("a/b", b"x"))


def _cut() -> bytes:
    return tarred(("x", b"y" * 5000))[:2000]


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "dots": _named("../../planted"),
    "dots-inside": _named("a/../../../planted"),
    "absolute": _named("/tmp/planted"),
    "long-name": _named("d/" * 2000 + "x"),
    "symbolic-link": _special(tarfile.SYMTYPE, "/etc/passwd"),
    "link-then-file": _through_link,
    "hard-link": _special(tarfile.LNKTYPE, "/etc/passwd"),
    "block-device": _special(tarfile.BLKTYPE),
    "character-device": _special(tarfile.CHRTYPE),
    "pipe": _special(tarfile.FIFOTYPE),
    "sparse": _sparse,
    "claims-terabytes": lambda: _claims(1 << 40),
    "header-of-gigabytes": lambda: _claims(1 << 31, tarfile.XHDTYPE),
    "nested-headers": _nested,
    "gzip-bomb": lambda: gzip.compress(_claims(1 << 33) + bytes(64 << 20), 1),
    "100,001-members": lambda: _many(100_001),
    "file-and-folder": _file_then_folder,
    "cut": _cut,
    "no-archive": lambda: b"\x1f\x8b" + bytes(100),
    "gzip-in-the-middle": lambda: gzip.compress(tarred(("x", b"y" * 100_000)))[:-50],
}


def oddities() -> bytes:
    """What is strange and does no harm: names that differ by case, hold newlines and codes, come twice."""
    names = ["case", "CASE", "new\nline", "\x1b[31m", "twice", "twice", "-rf", "ünï/cödé", "a" * 100]
    out = io.BytesIO(tarred(*((name, b"x") for name in names)))
    return out.getvalue()
