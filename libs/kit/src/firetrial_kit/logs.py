"""Structured logs: one JSON object a line on standard error, with no secret in it."""

from __future__ import annotations

import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

_SECRET_NAME = re.compile(r"(secret|password|token|authorization|api_?key)$", re.IGNORECASE)
# Shapes of real keys: vendors' prefixes, bearer headers, passwords inside URLs.
_SECRET_VALUE = re.compile(
    r"((?:sk-|ftk_)[A-Za-z0-9_-]{8,}|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{8,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)|AKIA[0-9A-Z]{16})"
)
MASK = "•••"
_LEAST = 8  # characters; what is shorter is a word
_hidden: set[str] = set()


def hide(*secrets: str) -> None:
    """Replace these in every line from now on, whatever they look like; ones that are too short stay."""
    _hidden.update(secret for secret in secrets if len(secret) >= _LEAST)


def masked(text: str) -> str:
    """`text` with everything that looks like a key replaced."""
    for secret in _hidden:
        text = text.replace(secret, MASK)
    return _SECRET_VALUE.sub(MASK, text)


def _mask(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        if _SECRET_NAME.search(name):
            event[name] = MASK
        elif isinstance(value, str):
            event[name] = masked(value)
    return event


def _hide(_: object, __: str, line: Any) -> str:
    """The rendered line, for secrets that lie deeper in it."""
    for secret in _hidden:
        line = line.replace(secret, MASK)
    return str(line)


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Send the logs of this process to `stream` (standard error by default), from `level` on."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _mask,
            structlog.processors.JSONRenderer(ensure_ascii=False),
            _hide,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )


def logger(service: str) -> structlog.typing.FilteringBoundLogger:
    """A logger whose lines name `service`."""
    bound: structlog.typing.FilteringBoundLogger = structlog.get_logger().bind(service=service)
    return bound
