"""What a follow-up run handed in, from the tar of its files: the paper's text, and its code.

Nothing of it is evidence: an agent writes these files itself, those under logs/ too.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, cast

from firetrial_kit import tars

MAX_PAPER = 256 * 1024
"""Bytes of the paper that are read, as of a conclusion."""
_MAX_CODE = 4 * 1024 * 1024
_MAX_FILE = 1024 * 1024
_MAX_OFFSET = 512 * 1024 * 1024
_CODES = frozenset({".py", ".sh", ".r", ".jl", ".ipynb", ".yaml", ".yml", ".toml", ".json", ".cfg", ".ini"})
_BY_NAME = frozenset({"makefile"})
"""Code without an ending."""
_PAPERS = (".md", ".tex", ".txt")
# The paper's own file comes first, whatever lies beside it.
_FIRST = ("paper", "main", "index", "readme")


@dataclass
class HandedIn:
    """`paper` is empty where there is no text of one; `left_out` says in words what was not read."""

    paper: str = ""
    code: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def read(archive: IO[bytes]) -> HandedIn:
    """Read a tar, hostile as it may be; of a broken one what is whole."""
    found = HandedIn()
    papers: dict[str, str] = {}
    try:
        with tars.reading(archive) as tar:
            for name, text in _texts(tar, found.left_out):
                folder, _, rest = name.partition("/")
                if folder == "paper" and PurePosixPath(rest).suffix.lower() in _PAPERS:
                    papers[rest] = text
                elif folder == "code" and _is_code(rest):
                    found.code[name] = text
    except tars.BROKEN as error:
        found.left_out.append(f"the submission could not be read to its end: {error}"[:300])
    found.paper = "\n\n".join(papers[name] for name in sorted(papers, key=_place))[:MAX_PAPER]
    return found


def _is_code(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in _CODES or path.name.lower() in _BY_NAME


def _texts(tar: tarfile.TarFile, left_out: list[str]) -> Iterator[tuple[str, str]]:
    room = {"paper": MAX_PAPER, "code": _MAX_CODE}
    for member in tar:
        if member.offset > _MAX_OFFSET:
            left_out.append(f"the submission was read up to {_MAX_OFFSET} bytes")
            return
        name = member.name.removeprefix("./")
        folder = name.partition("/")[0]
        if not member.isreg() or folder not in room or not (_is_code(name) or name.lower().endswith(_PAPERS)):
            continue
        size = min(member.size, room[folder], _MAX_FILE)
        if size < member.size:
            left_out.append(f"{name[:200]} was read up to {size} of its {member.size} bytes")
        room[folder] -= size
        yield name, cast("IO[bytes]", tar.extractfile(member)).read(size).decode("utf-8", "replace")


def _place(name: str) -> tuple[int, str]:
    stem = PurePosixPath(name).stem.lower()
    return (_FIRST.index(stem) if stem in _FIRST else len(_FIRST), name)
