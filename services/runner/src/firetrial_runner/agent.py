"""An agent: a program that is given a task, and the files that it brings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from firetrial_kit.errors import Fault
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef
from firetrial_runner import programs
from firetrial_runner.archive import bundle, is_plain

MAX_FILES = 1000
MAX_BYTES = 1024 * 1024
_MAX_COMMAND = 64 * 1024
_MAX_DESCRIPTION = 4096
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A file of the agent, at `path` below /agent."""

    path: str
    content: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """What was handed in. `command` is the program and its arguments, never a shell string.

    `program` names the agent program that it starts, "" for none that is known here; `image` what it runs in,
    "" for the runner's own.
    """

    name: str
    command: tuple[str, ...]
    files: tuple[AgentFile, ...] = ()
    description: str = ""
    program: str = ""
    image: str = ""

    @property
    def id(self) -> str:
        """name@hash: another command, program, image or file is another agent; another description is not."""
        files = sorted((file.path, file.content.hex(), file.executable) for file in self.files)
        more: list[object] = [self.program] if self.program else []
        more += [{"image": self.image}] if self.image else []
        return f"{self.name}@{digest(self.command, files, *more, length=12)}"

    def bundle(self) -> bytes:
        """Its files as a tar."""
        return bundle((file.path, file.content, file.executable) for file in self.files)

    def faults(self) -> Iterator[Fault]:
        if not _NAME.fullmatch(self.name):
            yield Fault("name", self.name, f"must match {_NAME.pattern}")
        if not self.command or not self.command[0]:
            yield Fault("command", str(list(self.command)), "must be a program and its arguments")
        if any("\0" in part for part in self.command):
            yield Fault("command", "a NUL character", "must be text without NUL")
        if sum(map(len, self.command)) > _MAX_COMMAND:
            yield Fault("command", "its length", f"must be at most {_MAX_COMMAND} characters in all")
        if len(self.description) > _MAX_DESCRIPTION:
            yield Fault("description", "its length", f"must be at most {_MAX_DESCRIPTION} characters")
        yield from programs.faults(self.program)
        if self.image and not _IMAGE.fullmatch(self.image):
            yield Fault("image", self.image, f"must match {_IMAGE.pattern}, or be empty")
        yield from self._file_faults()

    def _file_faults(self) -> Iterator[Fault]:
        if len(self.files) > MAX_FILES:
            yield Fault("files", str(len(self.files)), f"must be at most {MAX_FILES}")
        size = sum(len(file.content) for file in self.files)
        if size > MAX_BYTES:
            yield Fault("files", f"{size} bytes", f"must be at most {MAX_BYTES} bytes in all")
        paths = [file.path for file in self.files]
        for index, path in enumerate(paths):
            field = f"files[{index}].path"
            if not path or path.endswith("/") or len(path) > 250 or not is_plain(path):
                yield Fault(field, path, "must be a relative path without '..', at most 250 characters")
            if paths.index(path) != index:
                yield Fault(field, path, "must be there once")


@dataclass(frozen=True, slots=True)
class Agent:
    """A registered agent."""

    id: str
    name: str
    description: str
    command: tuple[str, ...]
    bundle: ObjectRef
    submitted_at: datetime
    program: str = ""
    image: str = ""
