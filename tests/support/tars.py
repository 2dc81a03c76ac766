"""Tars made in memory, of files and of what should not be in a tar."""

from __future__ import annotations

import io
import tarfile
from typing import Literal


def tarred(*members: tuple[str | tarfile.TarInfo, bytes], mode: Literal["w", "w:gz"] = "w") -> bytes:
    """A tar of these members: names or headers, and bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for named, data in members:
            info = tarfile.TarInfo(named) if isinstance(named, str) else named
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """The header of a link or a device."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info
