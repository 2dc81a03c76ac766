"""The one error that crosses a process boundary, and what it means on either side of it.

A reason decides both the gRPC code that a caller sees and whether JetStream delivers a message again;
the table below is the only place that knows. Everything else that is raised becomes INTERNAL.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why something could not be done."""

    INVALID = "INVALID"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    CONFLICT = "CONFLICT"
    PRECONDITION = "PRECONDITION"
    TOO_LARGE = "TOO_LARGE"
    DENIED = "DENIED"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    CANCELLED = "CANCELLED"
    DEADLINE = "DEADLINE"
    EXHAUSTED = "EXHAUSTED"
    UNAVAILABLE = "UNAVAILABLE"
    NOT_YET = "NOT_YET"
    CORRUPT = "CORRUPT"
    INTERNAL = "INTERNAL"


# Reason → (name of the gRPC code, whether a message is worth delivering again).
_MEANING: dict[Reason, tuple[str, bool]] = {
    Reason.INVALID: ("INVALID_ARGUMENT", False),
    Reason.NOT_FOUND: ("NOT_FOUND", False),
    Reason.ALREADY_EXISTS: ("ALREADY_EXISTS", False),
    Reason.CONFLICT: ("ABORTED", True),
    Reason.PRECONDITION: ("FAILED_PRECONDITION", False),
    Reason.TOO_LARGE: ("INVALID_ARGUMENT", False),
    Reason.DENIED: ("PERMISSION_DENIED", False),
    Reason.UNAUTHENTICATED: ("UNAUTHENTICATED", False),
    Reason.CANCELLED: ("CANCELLED", False),
    Reason.DEADLINE: ("DEADLINE_EXCEEDED", True),
    Reason.EXHAUSTED: ("RESOURCE_EXHAUSTED", True),
    Reason.UNAVAILABLE: ("UNAVAILABLE", True),
    Reason.NOT_YET: ("UNIMPLEMENTED", False),
    Reason.CORRUPT: ("DATA_LOSS", False),
    Reason.INTERNAL: ("INTERNAL", True),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with an input: the field, the value found there, and what would be right."""

    field: str
    value: str
    cure: str

    def __str__(self) -> str:
        shown = self.value if len(self.value) <= 80 else self.value[:77] + "…"
        return f"{self.field} is {shown!r}: {self.cure}"


class FiretrialError(Exception):
    """Something that another process must understand.

    `retry_after` is in seconds; where it is set, nobody should try again sooner.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        faults: Iterable[Fault] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.faults = tuple(faults)
        self.retry_after = retry_after

    @property
    def code(self) -> str:
        """The name of the gRPC status code, for example "INVALID_ARGUMENT"."""
        return _MEANING[self.reason][0]

    @property
    def retryable(self) -> bool:
        """Whether the same message may succeed when it is delivered again."""
        return _MEANING[self.reason][1]


def invalid(subject: str, faults: Iterable[Fault]) -> FiretrialError:
    """An INVALID error that tells every fault of `subject` at once."""
    found = tuple(faults)
    return FiretrialError(
        Reason.INVALID, f"{subject} is not valid: " + "; ".join(str(fault) for fault in found), faults=found
    )


def check(subject: str, faults: Iterable[Fault]) -> None:
    """Raise `invalid` where there is a fault."""
    found = tuple(faults)
    if found:
        raise invalid(subject, found)
