"""A client's upload: counted while it comes, kept in a file, its hash taken on the way."""

from __future__ import annotations

import asyncio
import hashlib
import tarfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol, TypeVar

from firetrial_kit import tars
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid

MAX_CHUNK = 1024 * 1024
MAX_MEMBERS = 50_000


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file that arrived whole."""

    path: Path
    sha256: str


class Part(Protocol):
    """A message of an upload: a header or a chunk."""

    def WhichOneof(self, oneof: Literal["part"], /) -> Literal["header", "chunk"] | None:  # noqa: N802
        """Which of the two it is."""
        ...


P = TypeVar("P", bound=Part)


async def first(parts: AsyncIterator[P]) -> P:
    """The message with the header. Raises INVALID where another comes first."""
    part = await anext(parts, None)
    if part is None or part.WhichOneof("part") != "header":
        raise invalid("the upload", [Fault("part", "no header", "the first message must be the header")])
    return part


async def chunks(parts: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    """What follows the header. Raises INVALID where anything but chunks comes."""
    async for part in parts:
        if part.WhichOneof("part") != "chunk":
            raise invalid("the upload", [Fault("part", "header", "after the header come chunks only")])
        yield part.chunk


async def spool(chunks: AsyncIterator[bytes], path: Path, size: int) -> Uploaded:
    """Write the chunks to `path`. Raises INVALID where they are not `size` bytes."""
    sha256 = hashlib.sha256()
    got = 0
    with path.open("wb") as file:
        async for chunk in chunks:
            got += len(chunk)
            if len(chunk) > MAX_CHUNK:
                raise invalid(
                    "the upload", [Fault("chunk", f"{len(chunk)} bytes", f"at most {MAX_CHUNK} bytes")]
                )
            if got > size:
                raise _wrong_size(got, size)
            sha256.update(chunk)
            await asyncio.to_thread(file.write, chunk)
    if got != size:
        raise _wrong_size(got, size)
    return Uploaded(path, sha256.hexdigest())


def _wrong_size(got: int, size: int) -> FiretrialError:
    return invalid("the upload", [Fault("header.size", str(size), f"is not what came: {got} bytes")])


def size_faults(field: str, size: int, limit: int) -> Iterator[Fault]:
    """What is wrong with the announced size of an upload."""
    if size < 0:
        yield Fault(field, str(size), "must not be negative")
    if size > limit:
        yield Fault(field, f"{size} bytes", f"at most {limit} bytes are taken")


def check_tar(path: Path) -> None:
    """Raise INVALID for an archive with anything but files and folders under plain relative names."""
    try:
        with tarfile.open(path, "r:") as tar:
            faults = [f for n, member in enumerate(tar) for f in _member_faults(n, member)]
    except tars.BROKEN as error:
        raise invalid("the data", [Fault("chunk", str(error), "must be an uncompressed tar")]) from error
    if faults:
        raise invalid("the data", faults[:20])


def _member_faults(n: int, member: tarfile.TarInfo) -> Iterator[Fault]:
    if n >= MAX_MEMBERS:
        raise FiretrialError(Reason.TOO_LARGE, f"the data holds more than {MAX_MEMBERS} files")
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\0" in member.name:
        yield Fault("data", member.name, "names must be relative, without '..'")
    if not (member.isreg() or member.isdir()):
        yield Fault("data", member.name, "only files and folders; links and devices are not taken")
