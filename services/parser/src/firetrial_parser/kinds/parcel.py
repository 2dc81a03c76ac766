"""The upload of a repository task taken apart: a tar of the source, and two of what is sealed.

Each comes out in one form, whatever the uploader's tar was like: sorted, without owners and times, so that
the same files give the same hash.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from firetrial_kit import tars
from firetrial_kit.errors import Fault, check, invalid
from firetrial_parser.kinds.repository import Contents, is_plain

SOURCE, FILES, SCORE = "source", "sealed/files", "sealed/score"
_PARTS = (SOURCE, FILES, SCORE)
_PIECE = 256 * 1024


@dataclass(frozen=True, slots=True)
class Packed:
    """A tar on disk with its sha256."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class Parcel:
    """The tars of an upload that hold anything, by the part's name, and what is in them."""

    tars: dict[str, Packed] = field(default_factory=dict)
    contents: Contents = field(default_factory=Contents)

    @property
    def hashes(self) -> dict[str, str]:
        return {name: packed.sha256 for name, packed in self.tars.items()}


def unpack(upload: Path, folder: Path) -> Parcel:
    """Sort the members of a tar that `check_tar` has passed into tars below `folder`.

    Raises INVALID for files outside of the three parts, for one that is there twice, and for a damaged tar.
    """
    try:
        with upload.open("rb") as file, tars.reading(file) as tar:
            members = [member for member in tar if member.isreg()]
            check("the task's files", _faults(members, upload.stat().st_size))
            found = {name: _part(tar, name, members, folder) for name in _PARTS}
    except tars.BROKEN as error:
        raise invalid(
            "the task's files", [Fault("chunk", str(error), "must be an uncompressed tar")]
        ) from error
    hashes = [found[name][1] for name in _PARTS]
    return Parcel({name: packed for name, (packed, inside) in found.items() if inside}, Contents(*hashes))


def _faults(members: list[tarfile.TarInfo], size: int) -> Iterator[Fault]:
    seen = set()
    for member in members:
        name = _split(member.name)
        if name is None or not is_plain(name[1]):
            cure = f"must lie under {'/, '.join(_PARTS)}/, under a plain name"
            yield Fault("data", member.name[:80], cure)
        if member.name in seen:
            yield Fault("data", member.name[:80], "is there twice")
        seen.add(member.name)
    if sum(member.size for member in members) > size:  # sparse files may claim any size
        yield Fault("data", f"{size} bytes", "holds files that claim to be larger than the tar itself")


def _split(name: str) -> tuple[str, str] | None:
    """(part, path in it), or None for what belongs to none."""
    for part in _PARTS:
        if name.startswith(f"{part}/"):
            return part, name.removeprefix(f"{part}/")
    return None


def _part(
    tar: tarfile.TarFile, part: str, members: list[tarfile.TarInfo], folder: Path
) -> tuple[Packed, dict[str, str]]:
    """Write one part as a tar of its own; with it, sha256 by path."""
    chosen = {
        placed[1]: member
        for member in members
        if (placed := _split(member.name)) is not None and placed[0] == part
    }
    path, hashes = folder / f"{part.replace('/', '-')}.tar", dict[str, str]()
    with path.open("wb") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as out:
        for name in sorted(chosen):
            hashes[name] = _sha256(_body(tar, chosen[name]))
            out.addfile(_plain(name, chosen[name]), _body(tar, chosen[name]))
    with path.open("rb") as written:
        return Packed(path, _sha256(written)), hashes


def _body(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    body = tar.extractfile(member)
    if body is None:
        raise tarfile.ReadError(f"{member.name} has no content")
    return body


def _plain(name: str, member: tarfile.TarInfo) -> tarfile.TarInfo:
    plain = tarfile.TarInfo(name)
    plain.size, plain.mode = member.size, 0o755 if member.mode & 0o100 else 0o644
    return plain


def _sha256(file: IO[bytes]) -> str:
    found = hashlib.sha256()
    while piece := file.read(_PIECE):
        found.update(piece)
    return found.hexdigest()
