"""Commands and edits that wait for their result, so that each is one step with how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from firetrial_runner.trajectory import Kind, Told, Value

MAX_OPEN = 256


class Calls:
    """The calls that are open, by the id that the stream gives them."""

    def __init__(self) -> None:
        self._open: dict[str, Told] = {}

    def begin(self, call: str, what: Told) -> list[Told]:
        """Keep a call; gives the oldest where too many are open."""
        known = [self._open.pop(call)] if call in self._open else []
        self._open[call] = what
        if len(self._open) > MAX_OPEN:
            known.append(self._open.pop(next(iter(self._open))))
        return known

    def end(self, call: str, output: str, **how: Value) -> list[Told]:
        """The call with how it ended, and its output; the output alone where the call is not known."""
        begun = self._open.pop(call, None)
        told = [replace(begun, fields={**begun.fields, **how})] if begun else []
        return [*told, *lines(output, call)]

    def rest(self) -> list[Told]:
        """The calls that never ended."""
        left = list(self._open.values())
        self._open.clear()
        return left


def lines(output: str, call: str) -> Iterator[Told]:
    """Output as one step for each line."""
    if output:
        for line in output.removesuffix("\n").split("\n"):
            yield Told(Kind.OUTPUT, line, {"call": call or None}, "stdout")


def marked(text: str, mark: str) -> str:
    """Every line behind a mark, as a diff has it."""
    return "\n".join(mark + line for line in text.removesuffix("\n").split("\n")) if text else ""
