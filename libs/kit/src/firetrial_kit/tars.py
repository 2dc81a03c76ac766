"""Tars from strangers, read without trust in what their headers say."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, cast

BROKEN = (tarfile.TarError, EOFError, OSError, ValueError, RecursionError)
"""What reading raises for what is no tar: tarfile follows headers that announce headers by calling itself."""
_HEADER = 1024 * 1024  # bytes that a tar may make us read for the header of one member


@contextmanager
def reading(file: IO[bytes]) -> Iterator[tarfile.TarFile]:
    """A tar or tar.gz in a seekable file; a header that asks for a read of gigabytes is a tarfile.ReadError.

    Whoever reads expects BROKEN.
    """
    with ExitStack() as stack:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        plain = cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=file))) if packed else file
        wary = cast("IO[bytes]", _Wary(plain))
        yield stack.enter_context(tarfile.open(fileobj=wary, mode="r:", errorlevel=1))


class _Wary(io.BufferedIOBase):
    """A file that refuses reads of a size that only a hostile header asks for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= _HEADER:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()
