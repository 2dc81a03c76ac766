"""An agent as it is handed in: its command and the files that it brings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from firetrial_client.errors import Fault, check, invalid
from firetrial_client.units import format_size

MANIFEST = "agent.json"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MAX_BUNDLE = 1024 * 1024
_LEFT_OUT = {"__pycache__", ".git", ".DS_Store"}


@dataclass(frozen=True, slots=True)
class File:
    """A file of the bundle, at `path` under /agent."""

    path: str
    content: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Bundle:
    """A named program with its arguments, and its files, at most 1 MiB in all.

    `program` is the agent program that the command starts, as name@version, "" for none of those; `image` is
    what it runs in, "" for the runner's own.
    """

    name: str
    command: tuple[str, ...]
    description: str = ""
    files: tuple[File, ...] = ()
    program: str = ""
    image: str = ""

    def check(self) -> None:
        """Raises INVALID with every fault that can be told without the server."""
        size = sum(len(file.content) for file in self.files)
        faults = []
        if not NAME.fullmatch(self.name):
            faults.append(Fault("name", f"is {self.name!r}: must match [a-z0-9][a-z0-9._-]{{0,63}}"))
        if not self.command or not self.command[0]:
            faults.append(Fault("command", "is empty: must be a program and its arguments"))
        if size > MAX_BUNDLE:
            cure = f"are {format_size(size)}: at most {format_size(MAX_BUNDLE)}; put data into the task"
            faults.append(Fault("files", cure))
        check("the agent", faults)


def from_folder(folder: Path, more: Mapping[str, Path | bytes] | None = None) -> Bundle:
    """The agent in `folder`: agent.json (`name`, `command`, `description`, `program`, `image`) and every file
    beside it, and `more` by their path under /agent.

    Raises INVALID with every fault of agent.json, of links and of sizes.
    """
    told = _manifest(folder / MANIFEST)
    command, name = told.get("command"), told.get("name")
    description, program, image = (told.get(key, "") for key in ("description", "program", "image"))
    faults = []
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command):
        faults.append(Fault(f"{MANIFEST}: command", f"is {command!r}: must be a list of strings"))
        command = []
    faults += [
        Fault(f"{MANIFEST}: {key}", f"is {value!r}: must be a string")
        for key, value in zip(
            ("name", "description", "program", "image"), (name, description, program, image), strict=True
        )
        if not isinstance(value, str)
    ]
    check(f"the agent in {folder}", faults)
    files = (*files_in(folder), *_gathered(more or {}))
    bundle = Bundle(str(name), tuple(command), str(description), files, str(program), str(image))
    bundle.check()
    return bundle


def from_command(
    name: str, command: Sequence[str], files: Mapping[str, Path | bytes], description: str = ""
) -> Bundle:
    """An agent that is a command line, with `files` by their path under /agent; a folder brings all in it.

    Raises INVALID.
    """
    bundle = Bundle(name, tuple(command), description, tuple(_gathered(files)))
    bundle.check()
    return bundle


def _gathered(files: Mapping[str, Path | bytes]) -> Iterator[File]:
    """Files by their path under /agent; a folder brings all in it. Raises INVALID."""
    for path, source in files.items():
        if isinstance(source, bytes):
            yield File(path, source)
        elif source.is_dir():
            yield from files_in(source, path)
        else:
            yield _read(source, path)


def files_in(folder: Path, under: str = "") -> Iterator[File]:
    """Every regular file below `folder`, sorted; caches and version control are left out. Raises INVALID."""
    faults = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if _LEFT_OUT & set(relative.parts) or path.is_dir():
            continue
        if path.is_symlink() or not path.is_file():
            faults.append(Fault(str(relative), "is a link or no regular file: put the file itself there"))
        else:
            yield _read(path, "/".join(part for part in (under, relative.as_posix()) if part))
    check(f"the files in {folder}", faults)


def slug(words: Sequence[str]) -> str:
    """A name for a command line: `["python3", "/agent/solve.py"]` becomes `python3-solve.py`."""
    joined = "-".join(Path(word).name for word in words[:3])
    return re.sub(r"[^a-z0-9._]+", "-", joined.lower()).strip("-._")[:24].rstrip("-._") or "agent"


def _read(path: Path, name: str) -> File:
    try:
        stat = path.stat()
        if stat.st_size > MAX_BUNDLE:
            cure = f"is {format_size(stat.st_size)}: a bundle holds at most {format_size(MAX_BUNDLE)}"
            raise invalid("the agent", [Fault(name, cure)])
        return File(name, path.read_bytes(), executable=bool(stat.st_mode & 0o100))
    except OSError as error:
        raise invalid("the agent", [Fault(str(path), f"cannot be read: {error.strerror}")]) from None


def _manifest(path: Path) -> dict[str, object]:
    form = 'must be a JSON object like {"name": "mine", "command": ["python3", "/agent/agent.py"]}'
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise invalid("the agent", [Fault(str(path), f"does not exist: it {form}")]) from None
    except (OSError, ValueError) as error:
        raise invalid("the agent", [Fault(str(path), f"cannot be read ({error}): it {form}")]) from None
    if not isinstance(told, dict):
        raise invalid("the agent", [Fault(str(path), form)])
    return told
