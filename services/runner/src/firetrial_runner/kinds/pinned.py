"""The pinned source of a repository task as it lies on this machine, and what an agent did to its copy."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.archive import open_regular
from firetrial_runner.kinds.repository import Repository
from firetrial_runner.stoppable import Check, never

REPO = "repo"
"""The agent's copy, below its workspace."""
MAX_MOUNTS = 200
_TOLD = 20
_LOOKED_AT = 50_000
_PIECE = 1024 * 1024
_HOOKS = frozenset({"sitecustomize.py", "usercustomize.py", "conftest.py", "pytest.ini"})
"""What Python or a test runner would take up by itself from where it lies."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """The source at `folder`, where no agent comes; sha256 of what an agent may not change, by path.

    `written` are files that commands write.
    """

    folder: Path
    hashes: Mapping[str, str]
    targets: tuple[str, ...]
    written: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path, repository: Repository, go_on: Check = never) -> Pinned:
        """The source that was unpacked at `folder`. Raises PRECONDITION for one without a protected file."""
        written = (repository.metric.results_file, *repository.outputs)
        free = {*repository.targets, *written}
        kept = sorted({*(repository.protected or _files(folder))} - free)
        try:
            hashes = {path: _sha256(folder / path, go_on) for path in kept}
        except OSError as error:
            told = f"the source has no file that the task protects: {error}"
            raise FiretrialError(Reason.PRECONDITION, told) from error
        return cls(folder, hashes, repository.targets, written)

    def text(self, target: str) -> str:
        """The source's own text of a target file; "" where it has none."""
        try:
            return (self.folder / target).read_text(errors="replace")
        except OSError:
            return ""

    def mounts(self, at: str) -> dict[str, Path]:
        """What is shown read-only over an agent's copy at `at`: all but targets, in as few parts as can be.

        Nothing where that takes too many mounts; hashes tell then what was changed.
        """
        found = {f"{at}/{path}": self.folder / path for path in self._closed("")}
        return found if len(found) <= MAX_MOUNTS else {}

    def _closed(self, below: str) -> Iterator[str]:
        free = (*self.targets, *self.written)
        for entry in sorted(os.scandir(self.folder / below), key=lambda entry: entry.name):
            path = f"{below}/{entry.name}" if below else entry.name
            if path in free:
                continue
            if any(name.startswith(f"{path}/") for name in free):
                yield from self._closed(path)
            else:
                yield path

    def tampered(self, copy: Path, go_on: Check = never) -> list[str]:
        """Which of the protected files are not as they were in the agent's copy, in words."""
        found = []
        for path, known in self.hashes.items():
            try:
                same = not _behind_a_link(copy, path) and _sha256(copy / path, go_on) == known
            except OSError:
                same = False
            if not same:
                found.append(f"the protected file {path!r} was changed in the workspace")
        return _few(found)

    def planted(self, copy: Path) -> list[str]:
        """What lies beside an agent's copy that a validation would be led astray by, were it taken along."""
        links = [target for target in self.targets if _is_link(copy / target)]
        beside = (path for path in islice(_files(copy), _LOOKED_AT) if not (self.folder / path).exists())
        astray = ((path, why) for path in beside if (why := _astray(path)))
        found = [f"the target file {target!r} is a link in the workspace" for target in links]
        found += [f"{path!r} was left in the workspace, {why}; it is not used" for path, why in astray]
        return _few(found)


def _behind_a_link(copy: Path, path: str) -> bool:
    """Whether a folder of a path is a link, which may lead this machine elsewhere than it leads the agent."""
    return any((copy / folder).is_symlink() for folder in PurePosixPath(path).parents)


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:  # the agent shut the folder
        return False


def _astray(path: str) -> str:
    name = PurePosixPath(path)
    if name.name in _HOOKS or name.suffix == ".pth":
        return "which Python takes up by itself"
    module = name.parts[0].removesuffix(".py") if len(name.parts) == 1 and name.suffix == ".py" else ""
    if len(name.parts) == 2 and name.name == "__init__.py":
        module = name.parts[0]
    return "which stands before a module of Python" if module in sys.stdlib_module_names else ""


def _few(found: list[str]) -> list[str]:
    more = len(found) - _TOLD
    return [*found[:_TOLD], f"and {more} more"] if more > 0 else found


def _files(folder: Path) -> Iterator[str]:
    """Paths of all that is no directory below a folder; links are not followed."""
    for at, _, names in os.walk(folder):
        below = Path(at).relative_to(folder)
        yield from ((below / name).as_posix() for name in names)


def _sha256(path: Path, go_on: Check) -> str:
    """Raises OSError for what is no regular file."""
    opened = open_regular(path)
    if opened is None:
        raise OSError(f"{path.name} is no regular file")
    found = hashlib.sha256()
    with opened as file:
        while piece := file.read(_PIECE):
            go_on()
            found.update(piece)
    return found.hexdigest()
