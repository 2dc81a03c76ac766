"""Archives of LaTeX sources, as arXiv hands them out: hostile until read. Nothing is written to a disk."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, cast

from firetrial_kit import tars
from firetrial_parser.intake import packing, refuse

MAX_FILES = 2_000  # entries of one archive
MAX_UNPACKED = 256 * 1024 * 1024  # bytes that are unpacked on the way, figures and all
MAX_SOURCE = 10 * 1024 * 1024  # bytes of one source
MAX_SOURCES = 30 * 1024 * 1024  # bytes of all sources
TEXTS = frozenset({".tex", ".ltx", ".bbl", ".bib", ".cls", ".sty"})


def sources(data: bytes) -> dict[str, str]:
    """The TeX files of an archive (zip, tar, tar.gz, or one gzipped file) by their paths in it.

    Raises INVALID for what is damaged, encrypted or beyond the limits, and where there is no TeX in it.
    """
    try:
        found = dict(_texts(data))
    except (
        tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError,
        RecursionError, NotImplementedError, RuntimeError,
    ) as error:  # fmt: skip
        # tarfile calls itself for headers that announce headers; zipfile raises most of the others.
        cure = "the archive is damaged or packed in a way that is not read; fetch it again"
        raise refuse("file", str(error) or type(error).__name__, cure) from error
    if not any(PurePosixPath(name).suffix in {".tex", ".ltx"} for name in found):
        raise refuse("file", "no .tex file", "give an archive with the paper's LaTeX source, or its PDF")
    return found


def _texts(data: bytes) -> Iterator[tuple[str, str]]:
    total = 0
    for name, raw in _members(data):
        if len(raw) > MAX_SOURCE:
            raise refuse("file", name, f"a source has at most {MAX_SOURCE} bytes")
        total += len(raw)
        if total > MAX_SOURCES:
            raise refuse("file", f"{total} bytes of sources", f"at most {MAX_SOURCES} are read")
        text = _decoded(raw)
        if text is not None:
            yield name, text


def _decoded(raw: bytes) -> str | None:
    """A source's text; old ones are in Latin-1. None where it is no text at all."""
    if b"\0" in raw or not raw.strip():
        return None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    if packing(data) == "zip":
        yield from _zipped(data)
        return
    stream: IO[bytes] = io.BytesIO(data)
    if packing(data) == "gzip":
        stream = cast("IO[bytes]", _Bounded(data))
        if not _is_tar(stream):
            stream.seek(0)
            yield "main.tex", stream.read(MAX_SOURCE + 1)
            return
    stream.seek(0)
    yield from _tarred(stream)


def _is_tar(stream: IO[bytes]) -> bool:
    return packing(stream.read(512)) == "tar"


def _tarred(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    with tars.reading(stream) as tar:
        for n, member in enumerate(tar):
            if n >= MAX_FILES:
                raise refuse(
                    "file", f"more than {MAX_FILES} files", "leave out what is not the paper's source"
                )
            name = _path(member.name)
            if name is None or not member.isreg():
                continue  # links lead out of the archive, and no source needs them
            file = tar.extractfile(member)
            if file is not None:
                yield name, file.read(MAX_SOURCE + 1)


def _zipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_FILES:
            raise refuse("file", f"{len(entries)} files", f"at most {MAX_FILES}; leave out what is no source")
        for entry in entries:
            name = _path(entry.filename)
            if name is None or entry.is_dir():
                continue
            if entry.flag_bits & 1:
                raise refuse("file", name, "is encrypted; give the archive without a password")
            with archive.open(entry) as file:  # what the headers say of sizes is not trusted
                yield name, file.read(MAX_SOURCE + 1)


def _path(name: str) -> str | None:
    """A source's path in plain form, or None for other files and for paths that lead out of the archive."""
    path = PurePosixPath(name.replace("\\", "/"))
    plain = not path.is_absolute() and ".." not in path.parts and "\0" not in name
    return str(path) if plain and path.suffix.lower() in TEXTS else None


class _Bounded(io.BufferedIOBase):
    """Gzipped data, unpacked as it is read, up to `MAX_UNPACKED` bytes; what was read can be read again."""

    def __init__(self, data: bytes) -> None:
        self._file = gzip.GzipFile(fileobj=io.BytesIO(data))

    def read(self, size: int | None = -1) -> bytes:
        wanted = MAX_UNPACKED + 1 if size is None or size < 0 else size
        self._check(self._file.tell())
        return self._file.read(wanted)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check(offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def _check(self, at: int) -> None:
        if at > MAX_UNPACKED:
            raise refuse(
                "file", f"more than {MAX_UNPACKED} bytes when unpacked", "leave out figures and data"
            )
