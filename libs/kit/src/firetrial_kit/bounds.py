"""How much one caller may ask of a process at once: entries in a request, and streams that are open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid

MOST_ENTRIES = 20_000
"""In all lists of a request together: four megabytes hold two million, which take seconds to walk."""
MOST_STREAMS = 100
"""Of one tenant in a process. The broker has room for 1,000 who watch a bucket of state, whoever they are."""


def check(request: Message) -> None:
    """Raises INVALID for a request with too many entries in its lists, before anybody walks through them."""
    left, due = MOST_ENTRIES, [request]
    while due:
        for field, value in due.pop().ListFields():
            left -= len(value) if field.is_repeated else 0
            if left < 0:
                cure = f"a request must have at most {MOST_ENTRIES:,} entries in all its lists"
                raise invalid("the request", [Fault(field.full_name, f"{len(value)} entries", cure)])
            due += _inner(field, value)


def _inner(field: FieldDescriptor, value: Any) -> Iterable[Message]:
    if field.message_type is None:
        return ()
    if field.message_type.GetOptions().map_entry:
        return (each for each in value.values() if isinstance(each, Message))
    return value if field.is_repeated else (value,)


class Streams:
    """The answers without end that are under way, by whose they are."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_of(self, whose: str) -> Iterator[None]:
        """Inside, one more is open. Raises EXHAUSTED where that is one too many."""
        if self._open[whose] >= self._most:
            raise FiretrialError(
                Reason.EXHAUSTED,
                f"{whose} has {self._most} streams open here, which is as many as may be: close some",
                retry_after=10.0,
            )
        self._open[whose] += 1
        try:
            yield
        finally:
            self._open[whose] -= 1
            if not self._open[whose]:
                del self._open[whose]
