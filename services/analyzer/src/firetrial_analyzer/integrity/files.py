"""Text files that a run left, read within bounds and with nothing in them trusted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, cast

from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.taxonomy.actions import Line
from firetrial_kit import tars

MAX_FILES = 2000
MAX_BYTES = 8 * 1024 * 1024
"""Of one file."""
MAX_TOTAL = 64 * 1024 * 1024
MAX_OFFSET = 1024 * 1024 * 1024
"""How far into a tar is looked."""
_PIECE = 4096  # lines
_LINE = 64 * 1024
_TEXTS = frozenset({".json", ".jsonl", ".csv", ".tsv", ".txt", ".log", ".out", ".md", ".yaml", ".yml"})
# What an agent writes itself is no evidence, and what it was given is no result.
_REPORTS = re.compile(
    r"conclusion|report|summary\.(?:md|txt)|readme|paper|draft|write-?up|findings|abstract|answer\.|plan|notes?\.",
    re.IGNORECASE,
)
_GIVEN = ("data/", "instruction.txt")


class Files:
    """Passages from files; `left_out` says in words what was not read."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self._files = 0
        self._total = 0

    def folder(self, folder: Path) -> Iterator[Passage]:
        """Regular files below a folder, by name; links are not followed."""
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            name = path.relative_to(folder).as_posix()
            if self._takes(name, path.stat().st_size):
                with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                    yield from self._read(name, file)

    def tar(self, archive: IO[bytes]) -> Iterator[Passage]:
        """Regular files of a seekable tar or tar.gz. One that is broken is read as far as it is whole."""
        try:
            archive.seek(0)
            with tars.reading(archive) as opened:
                for member in opened:
                    if member.offset > MAX_OFFSET:
                        self.left_out.append(f"the archive was read up to {MAX_OFFSET} bytes")
                        return
                    if member.isreg() and self._takes(member.name, member.size):
                        yield from self._read(member.name, cast("IO[bytes]", opened.extractfile(member)))
        except tars.BROKEN as error:
            self.left_out.append(f"the archive could not be read to its end: {error}"[:300])

    def _takes(self, name: str, size: int) -> bool:
        """Whether a file is a text that counts; one that is too much is told."""
        path = PurePosixPath(name)
        shown = name.removeprefix("./")
        if path.suffix.lower() not in _TEXTS or _REPORTS.search(path.name) or shown.startswith(_GIVEN):
            return False
        if self._files >= MAX_FILES or self._total + min(size, MAX_BYTES) > MAX_TOTAL:
            if not any("more files" in told for told in self.left_out):
                self.left_out.append(f"{name[:200]} and more files were not read: there are too many")
            return False
        self._files += 1
        self._total += min(size, MAX_BYTES)
        if size > MAX_BYTES:
            self.left_out.append(f"{name[:200]} was read up to {MAX_BYTES} of its {size} bytes")
        return True

    def _read(self, name: str, file: IO[bytes]) -> Iterator[Passage]:
        lines: list[Line] = []
        room = MAX_BYTES
        while room > 0 and (data := file.readline(min(room, _LINE))):
            room -= len(data)
            lines.append(Line(0, data.decode("utf-8", "replace").rstrip("\r\n")))
            if len(lines) >= _PIECE:
                yield Passage(tuple(lines), file=name)
                lines = []
        if lines:
            yield Passage(tuple(lines), file=name)
