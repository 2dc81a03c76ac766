"""Server-sent events as they come, in pieces cut anywhere (WHATWG HTML, 9.2.6)."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_EVENT = 32 * 1024 * 1024

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")


class Events:
    """Splits a stream into its events, each with the blank line that ends it."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._seen = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The events that are complete now. Raises ValueError for one that is longer than MAX_EVENT."""
        self._buffer += data
        events, start = [], 0
        while found := _END.search(self._buffer, max(start, self._seen - 3)):
            events.append(bytes(self._buffer[start : found.end()]))
            start = self._seen = found.end()
        del self._buffer[:start]
        self._seen = len(self._buffer)
        if len(self._buffer) > MAX_EVENT:
            raise ValueError(f"an event of more than {MAX_EVENT} bytes")
        return events

    def end(self) -> bytes:
        """What came after the last event."""
        return bytes(self._buffer)


def data(event: bytes) -> dict[str, Any] | None:
    """The JSON object that an event carries, if it does."""
    lines = [line[5:].removeprefix(b" ") for line in _LINE.split(event) if line.startswith(b"data:")]
    try:
        found = json.loads(b"\n".join(lines))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
