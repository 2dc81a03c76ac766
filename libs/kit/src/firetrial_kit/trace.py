"""W3C trace context: one id follows a job through RPCs, events, model calls and logs.

https://www.w3.org/TR/trace-context/#traceparent-header. What is done on the way is recorded as spans where
`telemetry` exports them; without it, only the ids travel.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import structlog

from firetrial_kit.errors import FiretrialError

Value = str | int | float | bool
FORM: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_current: ContextVar[str | None] = ContextVar("traceparent", default=None)


class Kind(StrEnum):
    """What a span is to those beside it, as OpenTelemetry has it."""

    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    CONSUMER = "consumer"


class Span(Protocol):
    """A piece of work under way. No attribute may hold a secret or a text of an agent, paper or model."""

    @property
    def traceparent(self) -> str:
        """What its children are told."""
        ...

    def note(self, attributes: Mapping[str, Value]) -> None: ...

    def fail(self, what: str) -> None:
        """It failed: the error's kind, in a word. What was said first stays."""
        ...

    def end(self) -> None: ...


class Recorder(Protocol):
    """Keeps spans."""

    def begin(self, name: str, kind: Kind, parent: str | None, attributes: Mapping[str, Value]) -> Span:
        """A span under `parent`, or the first of a new trace where that is no traceparent."""
        ...


@dataclass(frozen=True, slots=True)
class _Unrecorded:
    traceparent: str

    def note(self, attributes: Mapping[str, Value]) -> None:
        pass

    def fail(self, what: str) -> None:
        pass

    def end(self) -> None:
        pass


class _Nowhere:
    def begin(self, name: str, kind: Kind, parent: str | None, attributes: Mapping[str, Value]) -> Span:  # noqa: ARG002 - the port's
        return _Unrecorded(new_traceparent(parent))


NOWHERE: Final[Recorder] = _Nowhere()
_recorder: Recorder = NOWHERE


def record_by(recorder: Recorder) -> None:
    """Spans that begin from now on, in this process, are kept by `recorder`."""
    global _recorder  # noqa: PLW0603 - like logging, one for the process
    _recorder = recorder


def new_traceparent(parent: str | None = None) -> str:
    """A traceparent for the next step: a child of `parent` where that is well formed, else a new trace."""
    match = FORM.fullmatch(parent or "")
    trace_id, flags = (match[1], match[3]) if match else (secrets.token_hex(16), "01")
    return f"00-{trace_id}-{secrets.token_hex(8)}-{flags}"


def current() -> str:
    """The traceparent to send on: of the work in hand, or a new one."""
    return _current.get() or new_traceparent()


@contextmanager
def span(
    name: str, kind: Kind = Kind.INTERNAL, attributes: Mapping[str, Value] | None = None
) -> Iterator[Span]:
    """What is done inside is one span, a child of the work in hand."""
    begun = _recorder.begin(name, kind, _current.get(), attributes or {})
    token = _current.set(begun.traceparent)
    try:
        yield begun
    except FiretrialError as error:
        begun.fail(error.reason)
        raise
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        begun.fail(type(error).__name__)
        raise
    finally:
        _current.reset(token)
        begun.end()


@contextmanager
def bound(parent: str | None, **names: str) -> Iterator[None]:
    """Do the work inside as what `parent` goes on with, with `names` and the trace id in each log line.

    Without a well-formed parent it begins a trace.
    """
    traceparent = parent if parent and FORM.fullmatch(parent) else new_traceparent()
    token = _current.set(traceparent)
    try:
        with structlog.contextvars.bound_contextvars(trace_id=traceparent[3:35], **names):
            yield
    finally:
        _current.reset(token)


@contextmanager
def resumed(parent: str) -> Iterator[None]:
    """Do the work inside as what `parent` goes on with, where it is no part of other work in hand."""
    if _current.get() is not None:
        yield
        return
    with bound(parent):
        yield
