"""What operators are shown: tables, JSON, and questions before something is destroyed."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
import structlog

from firetrial_kit import logs

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
_LEAST = 6
_NESTED = (dict, list, tuple)
_HIDDEN = frozenset(("Cc", "Cs", "Cf", "Zl", "Zp"))

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document, for programs.")
dry_run = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
yes = click.option("--yes", is_flag=True, help="Do not ask.")


def destructive(command: F) -> F:
    """The options of what destroys: --yes, --dry-run, --json."""
    return as_json(dry_run(yes(command)))


def run(work: Awaitable[R]) -> R:
    """What the coroutine gives."""

    async def main() -> R:
        return await work

    if not structlog.is_configured():
        logs.configure("error", sys.__stderr__)  # what a command prints is its own
    return asyncio.run(main())


def safe(text: object) -> str:
    """The text with what a terminal would act on spelled out (`\\x1b`), line ends included."""
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _HIDDEN else char
        for char in str(text)
    )


def show_json(value: Any) -> None:
    """One document on one line, ASCII alone."""
    click.echo(json.dumps(value, default=str))


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], less: Sequence[str] = ()) -> None:
    """Columns two blanks apart; what stands in them is made safe. On a terminal it is `fitted`."""
    lines = [list(headers), *([safe(cell) for cell in row] for row in rows)]
    if sys.stdout.isatty():
        lines = fitted(lines, shutil.get_terminal_size().columns, less)
    widths = _widths(lines)
    for number, line in enumerate(lines):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        click.echo(click.style(text, bold=True) if number == 0 else text)


def fitted(lines: Sequence[Sequence[str]], edge: int, less: Sequence[str] = ()) -> list[list[str]]:
    """A table, headers first, made as narrow as `edge` characters where it is wider.

    Columns go that are empty, then `less` one by one; then the longest cells are cut in their middle. The
    first column, by which a line is known, stays whole, and six characters of each other: beyond that a
    terminal wraps lines.
    """
    widths = _widths(lines)
    empty = [n for n, cells in enumerate(zip(*lines[1:], strict=True)) if n and not any(cells)]
    going = [*empty, *map(list(lines[0]).index, less)]
    kept = list(range(len(widths)))
    while going and _width([widths[n] for n in kept]) > edge:
        if (column := going.pop(0)) in kept:
            kept.remove(column)
    first, *others = (widths[n] for n in kept)
    levels = range(max(others, default=0), _LEAST, -1)
    fits = (level for level in levels if _width([first, *(min(width, level) for width in others)]) <= edge)
    level = next(fits, _LEAST)
    return [[line[0], *(_cut(line[n], level) for n in kept[1:])] for line in lines]


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, cells)) for cells in zip(*lines, strict=True)]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _cut(text: str, level: int) -> str:
    end = (level - 1) // 2
    return text if len(text) <= level else f"{text[: level - 1 - end]}…{text[-end:]}"


def confirm(question: str, *, sure: bool) -> None:
    """Ask on a terminal, unless `sure`. Raises UsageError where nobody can be asked, Abort for a no."""
    if sure:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Say --yes, for nobody is at a terminal to be asked.")
    click.confirm(question, abort=True, err=True)


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def span(seconds: float) -> str:
    """A length of time for people, in its largest unit."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def tree(value: Any, indent: int = 0) -> None:
    """A JSON value in lines, everything in it made safe."""
    blank = "  " * indent
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, _NESTED):
                click.echo(f"{blank}{safe(name)}:")
                tree(item, indent + 1)
            else:
                click.echo(f"{blank}{safe(name)}: {safe(item)}")
    elif isinstance(value, list | tuple):
        for item in value:
            tree(item, indent + 1) if isinstance(item, _NESTED) else click.echo(f"{blank}- {safe(item)}")
    else:
        click.echo(f"{blank}{safe(value)}")
