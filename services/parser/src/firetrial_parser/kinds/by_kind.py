"""What a submitted task has beyond a question and a ground truth, by its kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from firetrial.parser.v1 import parser_service_pb2, task_pb2
from firetrial_kit.errors import Fault
from firetrial_parser.archive import Archive
from firetrial_parser.kinds import follow_up_wire, keeping_wire


class Special(Protocol):
    """What a kind adds to a task."""

    @property
    def identity(self) -> dict[str, object]:
        """All that it adds, as JSON values: a task with another one is another task."""
        ...

    def briefed(self, own: str) -> str:
        """The instruction for the agent, from the task's own words."""
        ...

    async def put(self, archive: Archive, task: task_pb2.Task) -> None:
        """Store the parts, what is secret first, and write into the task what agents and runners may see."""
        ...


def faults(header: parser_service_pb2.TaskHeader) -> Iterator[Fault]:
    """What can be told to be wrong before the files are there."""
    yield from keeping_wire.repository_faults(header)
    yield from follow_up_wire.follow_up_faults(header)


def taken_apart(header: parser_service_pb2.TaskHeader, upload: Path, folder: Path) -> Special | None:
    """What the kind adds to a task whose header is in order; None for rediscovery.

    Raises INVALID where the uploaded files do not fit.
    """
    found = keeping_wire.taken_apart(header, upload, folder)
    return found or follow_up_wire.taken_apart(header, upload, folder)
