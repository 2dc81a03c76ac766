"""Bytes on their way to a service: a file, a folder as a tar, or what is in memory."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from firetrial_client.errors import Fault, invalid

PIECE = 256 * 1024
_IN_MEMORY = 16 * 1024 * 1024


@contextmanager
def opened(source: Path | bytes | None, field: str) -> Iterator[tuple[IO[bytes], int]]:
    """The bytes of `source` and their number; a folder is read as a tar. Raises INVALID naming `field`."""
    if source is None or isinstance(source, bytes):
        yield io.BytesIO(source or b""), len(source or b"")
    elif source.is_dir():
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
            pack(source, [source], spool)
            size = spool.tell()
            spool.seek(0)
            yield spool, size
    else:
        try:
            file = source.open("rb")
        except OSError as error:
            cure = f"is {str(source)!r}: must be a file that can be read ({error.strerror})"
            raise invalid("the upload", [Fault(field, cure)]) from None
        with file:
            yield file, source.stat().st_size


def pack(folder: Path, parts: Iterable[Path], to: IO[bytes]) -> None:
    """A tar of what lies below `parts`, by its paths below `folder`; what Python compiled is left out.

    The same files give the same bytes: sorted, without owners and times. Links are followed.
    """
    with tarfile.open(fileobj=to, mode="w", format=tarfile.PAX_FORMAT, dereference=True) as tar:
        for path in sorted(path for part in parts for path in part.rglob("*")):
            if path.is_file() and path.parent.name != "__pycache__":
                tar.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=_plain)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry
