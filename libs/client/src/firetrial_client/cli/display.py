"""Progress for people: live on a terminal, a line for each change elsewhere, nothing beside JSON."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from firetrial_client.cli.board import Board
from firetrial_client.units import format_duration

Show = Callable[[], None]
_EVERY = 1.0


@contextmanager
def display(board: Board, *, quiet: bool) -> Iterator[Show]:
    """Shows `board` on standard error as long as it lasts; call the result after each change."""
    if quiet:
        yield lambda: None
        return
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        lines = Lines(board, lambda line: click.echo(line, err=True), time.monotonic)
        yield lines.show
        lines.finish()
        return
    picture = Picture(board, console, time.monotonic)
    with Live(get_renderable=picture.draw, console=console, refresh_per_second=4):
        yield lambda: None


class Lines:
    """One line for each change of the counts, at most one a second; the last one is never left out."""

    def __init__(self, board: Board, write: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._board = board
        self._write = write
        self._clock = clock
        self._began = clock()
        self._shown = ""
        self._next = self._began

    def show(self) -> None:
        if self._clock() >= self._next:
            self.finish()

    def finish(self) -> None:
        """Write what has changed since the last line."""
        now, line = self._clock(), self._board.line()
        if line != self._shown:
            self._shown = line
            self._next = now + _EVERY
            self._write(f"{format_duration(now - self._began):>7}  {line}")


class Picture:
    """The experiment, a bar for each agent, and the newest event, as wide and high as there is room for."""

    def __init__(self, board: Board, console: Console, clock: Callable[[], float]) -> None:
        self._board = board
        self._console = console
        self._clock = clock
        self._began = clock()

    def draw(self) -> Group:
        board, room = self._board, max(self._console.size.height - 5, 1)
        elapsed = format_duration(self._clock() - self._began)
        parts: list[Text | Table] = [
            Text(f"{board.experiment}  {elapsed}  {board.line()}", overflow="ellipsis", no_wrap=True),
            self._bars(board.agents[:room]),
        ]
        if len(board.agents) > room:
            parts.append(Text(f"… and {len(board.agents) - room} more agents", style="dim"))
        if board.newest:
            parts.append(Text(board.newest, style="dim", overflow="ellipsis", no_wrap=True))
        return Group(*parts)

    def _bars(self, agents: list[str]) -> Table:
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(ratio=3, no_wrap=True, overflow="ellipsis")
        table.add_column(ratio=2)
        table.add_column(ratio=3, no_wrap=True, overflow="ellipsis")
        for agent in agents:
            ended, total = self._board.ended(agent), self._board.total(agent)
            counts = ", ".join(f"{n} {name}" for name, n in self._board.counts(agent).items())
            # A bar without a total would pulse for ever.
            bar = ProgressBar(total=max(total, 1), completed=ended)
            table.add_row(Text(agent), bar, Text(f"{ended}/{total}  {counts}"))
        return table
