"""One tar out of several layers, where the later ones win: what a test is run over."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from firetrial_kit import tars
from firetrial_kit.errors import FiretrialError, Reason

MAX_FILES = 100_000
MAX_BYTES = 40 * 1024**3


@dataclass(frozen=True, slots=True)
class Layer:
    """A tar, or files by path."""

    tar: Path | None = None
    files: Mapping[str, bytes] | None = None


def merge(layers: Sequence[Layer], to: Path, without: Sequence[str] = ()) -> None:
    """Write to `to` each file of the last layer that has it, but for those that are left out.

    Raises PRECONDITION for a layer that holds anything but files and directories with plain names.
    """
    last: dict[str, int] = {}
    for number, layer in enumerate(layers):
        last |= dict.fromkeys(_names(layer), number)
    if len(last) > MAX_FILES:
        raise _wrong(f"it has more than {MAX_FILES} files")
    for name in without:
        last.pop(name, None)
    if clash := next((str(up) for name in last for up in PurePosixPath(name).parents if str(up) in last), ""):
        raise _wrong(f"{clash!r} is a file in one layer and a directory in another")
    with tarfile.open(to, "w", format=tarfile.PAX_FORMAT) as out:
        for number, layer in enumerate(layers):
            _copy(layer, out, {name for name, winner in last.items() if winner == number})


def _names(layer: Layer) -> Iterator[str]:
    if layer.tar is None:
        yield from layer.files or {}
        return
    size = 0
    for member, _ in _members(layer.tar):
        size += member.size
        if size > MAX_BYTES:
            raise _wrong(f"it has more than {MAX_BYTES} bytes")
        if member.isreg():
            yield _plain(member.name)


def _copy(layer: Layer, out: tarfile.TarFile, wanted: set[str]) -> None:
    for name, data in sorted((layer.files or {}).items()):
        if name in wanted:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    if layer.tar is None:
        return
    for member, tar in _members(layer.tar):
        if not member.isreg() or (name := _plain(member.name)) not in wanted:
            continue
        copied = tarfile.TarInfo(name)
        copied.size, copied.mode = member.size, member.mode
        out.addfile(copied, tar.extractfile(member))


def _members(path: Path) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    try:
        with path.open("rb") as file, tars.reading(file) as tar:
            for member in tar:
                tar.members.clear()  # type: ignore[attr-defined] # the list grows with every member otherwise
                if member.issparse() or not (member.isreg() or member.isdir()):
                    raise _wrong(f"{ascii(member.name)[:200]} is neither a file nor a directory")
                yield member, tar
    except tars.BROKEN as error:
        raise _wrong(f"it cannot be read: {error}") from error


def _plain(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise _wrong(f"{ascii(name)[:200]} leads out of it")
    return str(path)


def _wrong(told: str) -> FiretrialError:
    return FiretrialError(Reason.PRECONDITION, f"a part of the task's test is no archive of files: {told}")
