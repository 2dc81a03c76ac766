"""Tars from strangers and tars of what strangers left: nothing in either is trusted."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from firetrial_kit import tars
from firetrial_kit.errors import Fault, check, invalid
from firetrial_runner.stoppable import Check, never

GIB = 1024**3
MIB = 1024**2
_TOLD = 20  # faults named one by one


@dataclass(frozen=True, slots=True)
class Caps:
    """What an archive may hold: number of files, bytes of one, bytes of all."""

    files: int
    file_bytes: int
    total_bytes: int

    def within(self, room: int) -> Caps:
        """The same for a place that holds `room` bytes."""
        return Caps(self.files, min(self.file_bytes, room), min(self.total_bytes, room))


DATA = Caps(files=100_000, file_bytes=20 * GIB, total_bytes=40 * GIB)
BUNDLE = Caps(files=1_000, file_bytes=2 * MIB, total_bytes=2 * MIB)
ARTIFACTS = Caps(files=2_000, file_bytes=64 * MIB, total_bytes=256 * MIB)


def unpack(archive: Path, into: Path, caps: Caps, go_on: Check = never) -> None:
    """Unpack a tar or tar.gz below `into`, which is made. Raises INVALID with what is wrong.

    Only files and directories with plain relative names come out. Links are refused altogether: filters
    that try to tell good links from bad ones have been fooled. Nothing is unpacked of an archive that breaks
    a rule, and at most the caps are read of one that is a bomb.
    """
    try:
        with _opened(archive) as tar:
            check(f"the archive {archive.name}", _faults(tar, caps, go_on))
        into.mkdir(parents=True, exist_ok=True)
        with _opened(archive) as tar:
            for member in tar:
                _place(tar, member, into, go_on)
    except tars.BROKEN as error:
        raise invalid(
            "the archive", [Fault(archive.name, str(error), "must be a tar or tar.gz that is whole")]
        ) from error


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    with archive.open("rb") as file, tars.reading(file) as tar:
        yield tar


def _faults(tar: tarfile.TarFile, caps: Caps, go_on: Check) -> Iterator[Fault]:
    files, total, told = 0, 0, 0
    for member in tar:
        go_on()
        tar.members.clear()  # type: ignore[attr-defined] # the list grows with every member otherwise
        files, total = files + 1, total + member.size
        if files > caps.files:
            yield Fault("files", f"more than {caps.files}", f"must be at most {caps.files}")
            return
        if total > caps.total_bytes or member.size > caps.file_bytes:
            most = f"must be at most {caps.file_bytes} bytes each and {caps.total_bytes} in all"
            yield Fault(ascii(member.name)[:200], f"{member.size} bytes", most)
            return
        if fault := _fault(member):
            yield fault
            told += 1
            if told == _TOLD:
                return


def _fault(member: tarfile.TarInfo) -> Fault | None:
    name = ascii(member.name)[:200]
    if member.issparse() or not (member.isreg() or member.isdir()):
        return Fault(name, f"a special member of type {member.type!r}", "must be a file or a directory")
    if not is_plain(member.name) or len(member.name) > 1000:
        return Fault(name, "its name", "must be a relative path without '..'")
    return None


def is_plain(name: str) -> bool:
    """Whether a name, used below a directory, stays below it."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _place(tar: tarfile.TarFile, member: tarfile.TarInfo, into: Path, go_on: Check) -> None:
    tar.members.clear()  # type: ignore[attr-defined] # as above
    to = into / member.name
    if member.isdir():
        to.mkdir(parents=True, exist_ok=True)
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    source = tar.extractfile(member)
    with to.open("wb") as target:
        while source is not None and (part := source.read(MIB)):
            go_on()
            target.write(part)
    to.chmod(0o755 if member.mode & 0o111 else 0o644)


@dataclass(frozen=True, slots=True)
class Packed:
    """What a tar holds, and what was left out of it (name and why; the first few, and how many in all)."""

    files: int
    bytes: int
    left_out: tuple[tuple[str, str], ...]
    left_out_count: int


def pack(
    folder: Path, to: Path, caps: Caps, without: frozenset[str] = frozenset(), go_on: Check = never
) -> Packed:
    """Tar the regular files below `folder`, byte for byte the same for the same files.

    Not followed or opened: links, devices, pipes, sockets. `without` names entries of the folder itself
    that are passed over. What is over the caps is left out and told.
    """
    left: list[tuple[str, str]] = []
    files = total = 0
    with tarfile.open(to, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, why in _walk(folder, without):
            go_on()
            reason = why
            if reason is None:
                room = min(caps.file_bytes, caps.total_bytes - total) if files < caps.files else -1
                size, reason = _add(tar, folder, name, room)
                files, total = files + (reason is None), total + size
            if reason is not None:
                left.append((ascii(name)[1:-1], reason))
    return Packed(files, total, tuple(left[:_TOLD]), len(left))


def _walk(folder: Path, without: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    """(name below the folder, why it is left out or None), sorted by directory."""
    todo = [""]
    while todo:
        below = todo.pop()
        try:
            with os.scandir(folder / below) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield below, error.strerror or "cannot be read"
            continue
        folders = []
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            if name in without:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
            else:
                yield name, None if entry.is_file(follow_symlinks=False) else "not a regular file"
        todo += reversed(folders)


def _add(tar: tarfile.TarFile, folder: Path, name: str, room: int) -> tuple[int, str | None]:
    """(bytes added, why not)."""
    if room < 0:
        return 0, "more files than are kept"
    try:
        opened = open_regular(folder / name)
    except OSError as error:
        return 0, error.strerror or "cannot be read"
    if opened is None:
        return 0, "not a regular file"
    with opened as file:
        about = os.fstat(file.fileno())
        if about.st_size > room:
            return 0, f"{about.st_size} bytes are more than are kept"
        member = tarfile.TarInfo(name)
        member.size = about.st_size
        member.mode = 0o755 if about.st_mode & 0o111 else 0o644
        tar.addfile(member, file)
    return about.st_size, None


def open_regular(path: Path) -> IO[bytes] | None:
    """A file for reading, or None for anything else. Links are not followed, pipes not waited for.

    Raises OSError.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return open(handle, "rb")  # noqa: PTH123 -- from a handle
    os.close(handle)
    return None


def bundle(files: Iterator[tuple[str, bytes, bool]]) -> bytes:
    """A tar of (name, content, executable), byte for byte the same for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content, executable in sorted(files):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if executable else 0o644
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
