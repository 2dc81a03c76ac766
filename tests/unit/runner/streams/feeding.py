"""Readers fed with lines."""

from __future__ import annotations

from collections.abc import Iterable

from firetrial_runner.streams import Ending, StreamReader
from firetrial_runner.trajectory import Kind, Told


def feed(reader: StreamReader, lines: Iterable[str]) -> tuple[list[Told], Ending]:
    """What a reader makes of lines, those that it does not know as output; and the ending."""
    told: list[Told] = []
    for line in lines:
        found = reader.line(line)
        told += [Told(Kind.OUTPUT, line, {}, "stdout")] if found is None else found
    told += reader.close()
    return told, reader.ending()
