"""How far long work is, for people: one line on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from firetrial_operate.printing import size, span

R = TypeVar("R")
_SILENT = 2.0
_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Written as text with its line ends, or in one line again and again where that is `live`."""

    write: Callable[[str], object]
    clock: Callable[[], float]
    live: bool

    @contextmanager
    def of(self, what: str, total: int = 0) -> Iterator[Part]:
        """A part of the work, such as "objects copied": of so many, where that is known."""
        part = Part(self, what, total)
        try:
            yield part
        finally:
            part.end()


class Part:
    """Says nothing for two seconds, then at most once in a second, when something has changed."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._of = progress, what, f" of {total}" if total else ""
        self._count = self._bytes = 0
        self._began = progress.clock()
        self._next = self._began + _SILENT
        self._shown = ""

    def step(self, count: int = 1, size: int = 0) -> None:
        """So many more are done, or so many bytes of one."""
        self._count, self._bytes = self._count + count, self._bytes + size
        if self._progress.clock() >= self._next:
            self._show()

    async def after(self, work: Awaitable[R]) -> R:
        """What the work gives, with which one more is done."""
        result = await work
        self.step()
        return result

    def end(self) -> None:
        """Leave nothing of a live line; elsewhere write what has changed since the last one."""
        if self._shown and self._progress.live:
            self._progress.write("\r\x1b[K")
        elif self._shown:
            self._show()

    def _show(self) -> None:
        now = self._progress.clock()
        told = f"{self._what}: {self._count}{self._of}{f', {size(self._bytes)}' if self._bytes else ''}"
        if told == self._shown:
            return
        self._shown, self._next = told, now + _EVERY
        line = f"{span(now - self._began):>8}  {told}"
        self._progress.write(f"\r{line}\x1b[K" if self._progress.live else f"{line}\n")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


SILENT = Progress(lambda _: None, time.monotonic, live=False)


def progress(*, quiet: bool) -> Progress:
    """On standard error; nothing beside JSON, for programs read both."""
    return SILENT if quiet else Progress(_write, time.monotonic, live=sys.stderr.isatty())
