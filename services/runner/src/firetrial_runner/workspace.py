"""A run's place on this machine: what the agent is given before, what it left after, and its removal."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from firetrial_runner import archive, conclusion
from firetrial_runner.kinds.pinned import Pinned
from firetrial_runner.sandbox.port import WORKSPACE
from firetrial_runner.stoppable import Check, never

INSTRUCTION = "instruction.txt"
DATA = "data"
AGENT = "/agent"
"""Where the agent finds its own files."""
_MODULES = ("utils/__init__.py", "utils/llm_inference.py")
_GIVEN = frozenset({DATA, INSTRUCTION, *_MODULES, "utils/__pycache__"})
"""What the agent was given: no artifacts of its own."""
_OTHERS = frozenset({errno.ENOENT, errno.ENOTEMPTY})
"""What goes wrong in removing a folder that another removes too."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """`folder` is the run's own; the agent sees `files` as its workspace and `bundle` read-only.

    `env` is what the agent's environment has to say of what lies there. `given` are files that are no
    artifacts of its own, beside those that every run is given. `pinned` is a repository task's source.
    """

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    pinned: Pinned | None = None

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


def prepare(
    folder: Path,
    instruction: str,
    data: Path | None,
    bundle: Path | None,
    *,
    room: int = archive.DATA.total_bytes,
    go_on: Check = never,
) -> Workspace:
    """Make the workspace in `folder`, which must not exist, from tars.

    Raises INVALID for a bad tar, and for data of more than `room` bytes, which the agent would be blamed for.
    """
    provides = "utils.llm_inference" in instruction
    # Scripts import it from wherever in the workspace they lie.
    workspace = Workspace(folder, {"PYTHONPATH": WORKSPACE} if provides else {})
    workspace.files.mkdir(parents=True, mode=0o755)
    workspace.bundle.mkdir(mode=0o755)
    (workspace.files / INSTRUCTION).write_text(instruction)
    if provides:
        _provide(workspace.files)
    if data is not None:
        archive.unpack(data, workspace.files / DATA, archive.DATA.within(room), go_on)
    if bundle is not None:
        archive.unpack(bundle, workspace.bundle, archive.BUNDLE, go_on)
    return workspace


def _provide(files: Path) -> None:
    """The module that calls models, for tasks that say it is there."""
    for name in _MODULES:
        path = files / name
        path.parent.mkdir(exist_ok=True)
        source = resources.files("firetrial_runner.provided").joinpath(path.name)
        path.write_bytes(source.read_bytes())


def collect(
    workspace: Workspace, said: conclusion.Conclusion | None, why_not: str, go_on: Check = never
) -> Left:
    """Take what is there once the agent is dead.

    `said` is what it concluded on standard output, and `why_not` why that is nothing.
    """
    found = conclusion.in_workspace(workspace.files) or said
    names = " or ".join(conclusion.FILES)
    why_none = "" if found else f"no {names} with text in it, and {why_not}"
    tar = workspace.folder / "artifacts.tar"
    packed = archive.pack(workspace.files, tar, archive.ARTIFACTS, _GIVEN | workspace.given, go_on)
    return Left(found, why_none, tar, packed)


def remove(folder: Path) -> None:
    """Remove a run's folder, however deep its directories and whatever their modes.

    Directories are moved up before they are emptied, so that no path grows longer than the system allows.
    Not for folders in which something still runs.
    """
    while folder.is_dir():
        try:
            _remove(folder)
        except OSError as error:
            if error.errno not in _OTHERS:
                raise


def _remove(folder: Path) -> None:
    moved, mine = 0, secrets.token_hex(4)
    while subfolders := _emptied(folder):
        for subfolder in subfolders:
            for below in _emptied(subfolder):
                below.chmod(0o700)
                moved += 1
                below.rename(folder / f".{mine}-{moved}")
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
