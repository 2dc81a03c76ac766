"""What a command prints: tables for people, JSON for programs, and never a stranger's control codes."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from firetrial_client.cli.text import safe

# Where fewer characters than these are left for the last column, lines are wrapped and nothing is lost.
_PROSE = 16


def plain(value: Message | Mapping[str, Any] | Sequence[Any] | Any) -> Any:
    """`value` as JSON types; messages by proto JSON with the names of the contract, empty fields included."""
    if isinstance(value, Message):
        return MessageToDict(
            value, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def show_json(value: Any) -> None:
    """One JSON document on one line; lone surrogates stay escaped."""
    text = json.dumps(plain(value), ensure_ascii=False)
    click.echo(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def columns(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table with two blanks between columns. On a terminal a last column of prose is cut at its edge."""
    lines = [list(headers), *([safe(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    edge = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
        text = "  ".join([*cells, line[-1]]).rstrip()
        if len(text) > edge > sum(widths[:-1]) + 2 * len(widths) + _PROSE:
            text = text[: edge - 1] + "…"
        click.echo(click.style(text, bold=True) if number == 0 else text)


def fields(pairs: Iterable[tuple[str, object]]) -> None:
    """Names and values, one pair a line; pairs without a value are left out."""
    shown = [(name, safe(str(value))) for name, value in pairs if value not in ("", None)]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        click.echo(f"{name.ljust(width)}  {value}")


def when(stamp: Timestamp) -> str:
    """In this machine's time zone, to the minute; "" where unset."""
    if not stamp.seconds:
        return ""
    return f"{datetime.fromtimestamp(stamp.seconds, UTC).astimezone():%Y-%m-%d %H:%M}"


def word(enum: Any, value: int) -> str:
    """An enum value without its prefix, in lower case: RUN_STATE_QUEUED is "queued", 0 is ""."""
    if not value:
        return ""
    name: str = enum.Name(value)
    prefix: str = enum.Name(0).removesuffix("UNSPECIFIED")
    return name.removeprefix(prefix).lower()
