"""A submission's files as lines, from a tar or a folder that somebody hostile may have made.

Only plain files count: links, devices, names that leave the submission and what is over a limit are left
out, and each is noted. Folders of tools (.git, node_modules, …) are no part of the work. Nothing is ever
unpacked to disk. What is written for the grader is taken out (see `screening`).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from firetrial_judge.hostile import MANIPULATION
from firetrial_judge.rubric.screening import reason, screen
from firetrial_judge.rubric.tree import Deliverable
from firetrial_kit.errors import Fault, invalid
from firetrial_kit.ids import digest

MAX_FILES = 5_000
MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_BYTES = 64 * 1024 * 1024
"""Of text that is kept; a file's bytes beyond its limit are hashed but never read by a judge."""

MAX_LINE = 1_000
CAPPED = "files_capped"
_MAX_NAME = 300
_MAX_NOTES = 50
_SHOWN = 60
_SEPARATORS = re.compile(r"[-_./]+")
_CHUNK = 1024 * 1024
_SNIFFED = 8192
_TOOLS = frozenset({".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache"})
_FOLDERS = {
    "paper": Deliverable.PAPER,
    "report": Deliverable.PAPER,
    "code": Deliverable.CODE,
    "src": Deliverable.CODE,
    "log": Deliverable.LOGS,
    "logs": Deliverable.LOGS,
    "outputs": Deliverable.LOGS,
    "results": Deliverable.LOGS,
}
_SUFFIXES = {
    Deliverable.PAPER: (".tex", ".bib", ".md", ".rst", ".pdf", ".docx"),
    Deliverable.CODE: (
        *(".py", ".ipynb", ".sh", ".r", ".jl", ".m", ".c", ".h", ".cc", ".cpp", ".cu", ".f90", ".java"),
        *(".js", ".ts", ".go", ".rs", ".sql", ".yaml", ".yml", ".toml", ".cfg", ".ini"),
    ),
    Deliverable.LOGS: (".log", ".out", ".err", ".csv", ".tsv", ".jsonl"),
}


@dataclass(frozen=True, slots=True)
class File:
    """A file. `lines` are harmless text, at most MAX_LINE characters each; none where it is binary.

    `kind` is what its folder or its name's ending says, None where neither does.
    """

    name: str
    lines: tuple[str, ...]
    size: int
    kind: Deliverable | None


@dataclass(frozen=True, slots=True)
class Submission:
    """Files by name; `sha256` over all names and bytes; `notes` on what was left out.

    `flags` are facts that a reader of its grade must know, with the words for each.
    """

    files: tuple[File, ...]
    sha256: str
    notes: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def from_tar(data: bytes) -> Submission:
    """Read an uncompressed tar. Raises INVALID for anything else, and where it holds no file."""
    collected = _Collected()
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
                if content is None:
                    if not member.isdir():
                        collected.note(member.name, "is no plain file")
                else:
                    collected.add(member.name, content)
    # Headers that announce headers are read by recursion.
    except (tarfile.TarError, EOFError, ValueError, OverflowError, OSError, RecursionError) as error:
        raise invalid(
            "the submission", [Fault("files", "", f"must be an uncompressed tar: {error}")]
        ) from error
    return collected.whole()


def from_folder(folder: Path) -> Submission:
    """Read a folder without following links. Raises INVALID where it cannot be read or holds no file."""
    if not folder.is_dir():
        raise invalid("the submission", [Fault("submission", str(folder), "must be a folder")])
    collected = _Collected()
    for path in _walk(folder):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file():
            collected.note(name, "is no plain file")
            continue
        try:
            with path.open("rb") as content:
                collected.add(name, content)
        except OSError as error:
            collected.note(name, f"cannot be read: {error.strerror}")
    return collected.whole()


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _TOOLS)
        yield from (Path(root, name) for name in sorted(names))


@dataclass
class _Collected:
    """What has been read so far."""

    files: dict[str, File] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)
    kept: int = 0

    def note(self, name: str, what: str, flag: str = "") -> None:
        note = f"{_printable(name)[:_MAX_NAME]} {what}"
        if flag != MANIPULATION:
            self.notes.append(note)
        if flag:
            self.told.setdefault(flag, []).append(note)

    def add(self, given: str, content: IO[bytes]) -> None:
        name = self._named(str(PurePosixPath(_printable(given))))
        if _TOOLS.intersection(PurePosixPath(name).parts[:-1]):
            return
        if name.startswith("/") or ".." in PurePosixPath(name).parts or name == "." or len(name) > _MAX_NAME:
            self.note(given, "has no name that a submission's file can have")
        elif name in self.files:
            self.note(given, "is there twice: the first one counts")
        elif len(self.files) >= MAX_FILES:
            self.note(given, f"is one file more than {MAX_FILES}", CAPPED)
        else:
            self._keep(name, content)

    def _named(self, name: str) -> str:
        """The name, or another one where it is meant for the grader, who sees all names."""
        if not reason(_SEPARATORS.sub(" ", name)):
            return name
        other = f"renamed-{hashlib.sha256(name.encode()).hexdigest()[:8]}{PurePosixPath(name).suffix[:8]}"
        self.note(other, f"had a name that is meant for the grader: {name[:_SHOWN]!r}", MANIPULATION)
        return other

    def _keep(self, name: str, content: IO[bytes]) -> None:
        room = min(MAX_FILE_BYTES, MAX_BYTES - self.kept)
        hashed, head, size = hashlib.sha256(), bytearray(), 0
        while chunk := content.read(_CHUNK):
            hashed.update(chunk)
            head += chunk[: room - len(head)]
            size += len(chunk)
        self.hashes[name] = hashed.hexdigest()
        binary = b"\0" in head[:_SNIFFED]
        if binary:
            self.note(name, "is binary and was not read")
        elif size > len(head):
            self.note(name, f"was read up to byte {len(head)} of {size}", CAPPED)
        self.kept += 0 if binary else len(head)
        lines = () if binary else self._lines(name, bytes(head))
        self.files[name] = File(name, lines, size, _kind(name))

    def whole(self) -> Submission:
        if not self.files:
            raise invalid("the submission", [Fault("files", "", "must hold at least one plain file")])
        files = tuple(self.files[name] for name in sorted(self.files))
        flags = {flag: _few(notes) for flag, notes in self.told.items()}
        return Submission(files, digest(self.hashes), _few(self.notes), flags)

    def _lines(self, name: str, data: bytes) -> tuple[str, ...]:
        text = str(data, "utf-8", "replace").removeprefix("\ufeff").removesuffix("\n")
        written = text.split("\n") if text else []
        long = sum(len(line) > MAX_LINE for line in written)
        if long:
            self.note(name, f"has {long} lines that were read up to character {MAX_LINE}", CAPPED)
        lines, found = screen([line[:MAX_LINE] for line in written])
        for what in found:
            self.note(name, what, MANIPULATION)
        return lines


def _printable(name: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in name)


def _few(notes: list[str]) -> tuple[str, ...]:
    more = len(notes) - _MAX_NOTES
    return (*notes[:_MAX_NOTES], *([f"and {more} notes more"] if more > 0 else []))


def _kind(name: str) -> Deliverable | None:
    path = PurePosixPath(name.lower())
    for part in path.parts[:-1]:
        if part in _FOLDERS:
            return _FOLDERS[part]
    return next((kind for kind, suffixes in _SUFFIXES.items() if path.suffix in suffixes), None)
