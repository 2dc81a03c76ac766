"""W3C trace context: one id follows a job through RPCs, events and logs.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import structlog

_FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_current: ContextVar[str | None] = ContextVar("traceparent", default=None)


def new_traceparent(parent: str | None = None) -> str:
    """A traceparent for the next step: a child of `parent` where that is well formed, else a new trace."""
    match = _FORM.fullmatch(parent or "")
    trace_id = match[1] if match else secrets.token_hex(16)
    return f"00-{trace_id}-{secrets.token_hex(8)}-01"


def current() -> str:
    """The traceparent to send on: of the work in hand, or a new one."""
    return _current.get() or new_traceparent()


@contextmanager
def bound(parent: str | None, **names: str) -> Iterator[None]:
    """Do the work inside as a child of `parent`, with `names` and the trace id in each log line."""
    traceparent = new_traceparent(parent)
    token = _current.set(traceparent)
    try:
        with structlog.contextvars.bound_contextvars(trace_id=traceparent[3:35], **names):
            yield
    finally:
        _current.reset(token)
