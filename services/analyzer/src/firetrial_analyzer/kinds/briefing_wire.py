"""What a task tells its agent: protobuf → domain."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.json_format import Parse, ParseError

from firetrial.parser.v1 import task_pb2
from firetrial_kit.errors import FiretrialError, Reason


@dataclass(frozen=True, slots=True)
class Briefing:
    """The instruction, and whether what is handed in is a paper with its code."""

    instruction: str
    follow_up: bool = False


UNKNOWN = Briefing("")


def briefing_to_domain(data: bytes) -> Briefing:
    """Raises CORRUPT for bytes that are no task."""
    try:
        task = Parse(data, task_pb2.Task(), ignore_unknown_fields=True)
    except (ParseError, UnicodeDecodeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the task cannot be read: {error}") from error
    return Briefing(task.instruction, task.kind == task_pb2.TASK_KIND_FOLLOW_UP)
