"""The one error of the SDK: what a server refused, or that it could not be reached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """Why something could not be done; the same words as the services use."""

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


# Not a reason of a call: what was asked for was done, and failed.
FAILED = "FAILED"
EXIT_OTHER = 1
EXIT_INVALID = 2
EXIT_FAILED = 7
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143
_EXITS: dict[str, int] = {
    Reason.INVALID: EXIT_INVALID,
    Reason.TOO_LARGE: EXIT_INVALID,
    Reason.NOT_YET: 3,
    Reason.NOT_FOUND: 4,
    Reason.UNAVAILABLE: 5,
    Reason.DENIED: 6,
    Reason.UNAUTHENTICATED: 6,
    FAILED: EXIT_FAILED,
}
_REASONS = {code: str(reason) for reason, code in reversed(_EXITS.items())}


def exit_code(reason: str) -> int:
    """What a program that ends because of `reason` exits with; 1 for a reason without a code of its own."""
    return _EXITS.get(reason, EXIT_OTHER)


def reason_of(code: int) -> str:
    """The reason that an exit code stands for; INTERNAL for one that stands for several."""
    return _REASONS.get(code, str(Reason.INTERNAL))


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with an input: the field, and what was found there and would be right."""

    field: str
    description: str


class FiretrialError(Exception):
    """Something could not be done.

    `reason` is one of `Reason`, or a word of a newer server; `faults` are the bad fields, all of them;
    `retry_after` is in seconds: where it is set, nobody should try again sooner.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        faults: Iterable[Fault] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = str(reason)
        self.message = message
        self.faults = tuple(faults)
        self.retry_after = retry_after

    def to_json(self) -> dict[str, Any]:
        """`{"reason", "message", "faults": [{"field", "description"}]}`."""
        faults = [{"field": fault.field, "description": fault.description} for fault in self.faults]
        return {"reason": self.reason, "message": self.message, "faults": faults}


def invalid(subject: str, faults: Iterable[Fault]) -> FiretrialError:
    """An INVALID error that tells every fault of `subject` at once."""
    found = tuple(faults)
    told = "; ".join(f"{fault.field} {fault.description}" for fault in found)
    return FiretrialError(Reason.INVALID, f"{subject} is not valid: {told}", faults=found)


def check(subject: str, faults: Iterable[Fault]) -> None:
    """Raise `invalid` where there is a fault."""
    found = tuple(faults)
    if found:
        raise invalid(subject, found)
