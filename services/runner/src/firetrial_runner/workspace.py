"""A run's place on this machine: what the agent is given before, what it left after, and its removal."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from firetrial_runner import archive, conclusion

INSTRUCTION = "instruction.txt"
DATA = "data"
AGENT = "/agent"
"""Where the agent finds its own files."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """`folder` is the run's own; the agent sees `files` as its workspace and `bundle` read-only."""

    folder: Path

    @property
    def files(self) -> Path:
        return self.folder / "workspace"

    @property
    def bundle(self) -> Path:
        return self.folder / "agent"


@dataclass(frozen=True, slots=True)
class Left:
    """What an agent left: its conclusion, or why there is none; a tar of its files at `tar`."""

    conclusion: conclusion.Conclusion | None
    why_none: str
    tar: Path
    artifacts: archive.Packed


def prepare(folder: Path, instruction: str, data: Path | None, bundle: Path | None) -> Workspace:
    """Make the workspace in `folder`, which must not exist, from tars. Raises INVALID for a bad tar."""
    workspace = Workspace(folder)
    workspace.files.mkdir(parents=True, mode=0o755)
    workspace.bundle.mkdir(mode=0o755)
    (workspace.files / INSTRUCTION).write_text(instruction)
    if data is not None:
        archive.unpack(data, workspace.files / DATA, archive.DATA)
    if bundle is not None:
        archive.unpack(bundle, workspace.bundle, archive.BUNDLE)
    return workspace


def collect(workspace: Workspace, said: conclusion.Conclusion | None) -> Left:
    """Take what is there once the agent is dead. `said` is what it concluded on standard output."""
    found = conclusion.in_workspace(workspace.files) or said
    names = " or ".join(conclusion.FILES)
    why_none = "" if found else f"no {names} with text in it, and no text after {conclusion.MARK!r}"
    tar = workspace.folder / "artifacts.tar"
    packed = archive.pack(workspace.files, tar, archive.ARTIFACTS, frozenset({DATA, INSTRUCTION}))
    return Left(found, why_none, tar, packed)


def remove(folder: Path) -> None:
    """Remove a run's folder, however deep its directories and whatever their modes.

    Directories are moved up before they are emptied, so that no path grows longer than the system allows.
    Not for folders in which something still runs.
    """
    while folder.is_dir():
        with suppress(FileNotFoundError):  # another removes it too
            _remove(folder)


def _remove(folder: Path) -> None:
    moved = 0
    while subfolders := _emptied(folder):
        for subfolder in subfolders:
            for below in _emptied(subfolder):
                below.chmod(0o700)
                moved += 1
                below.rename(folder / f".{moved}")
            subfolder.rmdir()
    folder.rmdir()


def _emptied(folder: Path) -> list[Path]:
    """The directories in a directory, all else in it removed."""
    folder.chmod(0o700)
    subfolders = []
    with os.scandir(folder) as listing:
        for entry in listing:
            if entry.is_dir(follow_symlinks=False):
                subfolders.append(Path(entry.path))
            else:
                Path(entry.path).unlink()
    return subfolders
