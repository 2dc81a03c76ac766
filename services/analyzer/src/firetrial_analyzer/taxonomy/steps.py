"""The steps of a trajectory in its normal form, and quotes that can be checked against them.

A step is a JSON line {"step", "offset_s", "kind", "stream", "text", …}, as docs/trajectory.md has it; kinds
that are not known are left out. Where "continued" is true, the next step of the same kind and stream goes on
with the same text; such pieces are put together here, as long as a text is shorter than MAX_LINE characters.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

MAX_QUOTE = 200
_COMMON = frozenset({"step", "offset_s", "kind", "stream", "text", "continued"})
# Pieces of a line are put together up to so many characters; what is longer goes on as a line of its own.
MAX_LINE = 16 * 1024 * 1024


class StepKind(StrEnum):
    OUTPUT = "output"
    EVENT = "event"
    THOUGHT = "thought"
    COMMAND = "command"
    EDIT = "edit"
    MODEL = "model"
    CONCLUSION = "conclusion"


@dataclass(frozen=True, slots=True)
class Step:
    """A whole text, from step `number` to step `last`. `stream` is "" for all but output.

    `fields` are what its kind tells besides, such as a command's "exit_code". Where no kind is given, it is
    output on a stream, and else an event.
    """

    number: int
    last: int
    offset_s: float
    stream: str
    text: str
    kind: StepKind | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def what(self) -> StepKind:
        return self.kind or (StepKind.OUTPUT if self.stream else StepKind.EVENT)

    @property
    def by_agent(self) -> bool:
        """Whether it is the agent's doing, and not what befell it or what a model's gateway tells."""
        return self.what not in (StepKind.EVENT, StepKind.MODEL)


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote and the step that it is in."""

    step: int
    quote: str


class Reader:
    """Puts steps together from JSON lines, however these are handed over."""

    def __init__(self) -> None:
        self._open: dict[tuple[StepKind, str], list[Step]] = {}
        self._sizes: dict[tuple[StepKind, str], int] = {}

    def feed(self, lines: Iterable[str]) -> Iterator[Step]:
        """Steps that are whole now, in order. Lines that are no steps are left out: a chunk may be cut."""
        for line in lines:
            step, continued = _step(line)
            if step is None:
                continue
            place = step.what, step.stream
            self._open.setdefault(place, []).append(step)
            self._sizes[place] = self._sizes.get(place, 0) + len(step.text)
            if not continued or self._sizes[place] >= MAX_LINE:
                yield _joined(self._open.pop(place))
                del self._sizes[place]

    def close(self) -> Iterator[Step]:
        """What never ended."""
        yield from sorted(map(_joined, self._open.values()), key=lambda step: step.number)
        self._open.clear()


def read(lines: Iterable[str]) -> Iterator[Step]:
    """Steps from JSON lines, in order."""
    reader = Reader()
    yield from reader.feed(lines)
    yield from reader.close()


def _joined(pieces: list[Step]) -> Step:
    return replace(pieces[0], last=pieces[-1].last, text="".join(piece.text for piece in pieces))


def _step(line: str) -> tuple[Step | None, bool]:
    try:
        told = json.loads(line)
        number, text, kind = int(told["step"]), str(told["text"]), StepKind(told["kind"])
        stream = str(told.get("stream") or "stdout") if kind is StepKind.OUTPUT else ""
        offset = float(told.get("offset_s", 0))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None, False
    fields = {name: value for name, value in told.items() if name not in _COMMON}
    return Step(number, number, offset, stream, text, kind, fields), told.get("continued") is True


def event(step: Step) -> dict[str, Any] | None:
    """The JSON object that the line is, if it is one: agents write their events so."""
    if not step.text.startswith("{"):
        return None
    try:
        found = json.loads(step.text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def cite(step: int, text: str) -> Citation:
    """Of the first line of `text`, cut to MAX_QUOTE characters."""
    quote = text.strip().split("\n", 1)[0]
    return Citation(step, quote[:MAX_QUOTE].rstrip())


def holds(steps: Mapping[int, Step], citation: Citation) -> bool:
    """Whether the cited step exists and shows the quote, as written or inside the JSON that it is."""
    step = steps.get(citation.step)
    if step is None or not citation.quote:
        return False
    return any(citation.quote in text for text in texts(step))


def texts(step: Step) -> Iterator[str]:
    """What a step says: its text as written, and each text inside the JSON that it is."""
    yield step.text
    yield from _strings(event(step))


def by_number(steps: Iterable[Step]) -> dict[int, Step]:
    """Every step number → the line that it is a part of."""
    return {number: step for step in steps for number in range(step.number, step.last + 1)}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
