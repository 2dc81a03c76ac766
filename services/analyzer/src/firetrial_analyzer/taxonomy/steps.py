"""The steps of a trajectory in its normal form, and quotes that can be checked against them.

A step is a JSON line {"step", "offset_s", "kind", "stream", "text"} of the kind output, event or model. Where
"continued" is true, the next step of the same stream goes on with the same line; such pieces are put together
here, as long as a line is shorter than MAX_LINE characters.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

MAX_QUOTE = 200
MODEL = "model"
# Pieces of a line are put together up to so many characters; what is longer goes on as a line of its own.
MAX_LINE = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Step:
    """A whole line, from step `number` to step `last`.

    `stream` is that of the agent's output, "" for an event of the runner, MODEL for an exchange with a model.
    """

    number: int
    last: int
    offset_s: float
    stream: str
    text: str

    @property
    def by_agent(self) -> bool:
        return self.stream not in ("", MODEL)


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote and the step that it is in."""

    step: int
    quote: str


class Reader:
    """Puts steps together from JSON lines, however these are handed over."""

    def __init__(self) -> None:
        self._open: dict[str, list[Step]] = {}
        self._sizes: dict[str, int] = {}

    def feed(self, lines: Iterable[str]) -> Iterator[Step]:
        """Steps that are whole now, in order. Lines that are no steps are left out: a chunk may be cut."""
        for line in lines:
            step, continued = _step(line)
            if step is None:
                continue
            self._open.setdefault(step.stream, []).append(step)
            self._sizes[step.stream] = self._sizes.get(step.stream, 0) + len(step.text)
            if not continued or self._sizes[step.stream] >= MAX_LINE:
                yield _joined(self._open.pop(step.stream))
                del self._sizes[step.stream]

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
        number, text = int(told["step"]), str(told["text"])
        others = {"event": "", "model": MODEL}
        stream = others.get(told["kind"], str(told.get("stream") or "stdout"))
        step = Step(number, number, float(told.get("offset_s", 0)), stream, text)
    except (ValueError, TypeError, KeyError):
        return None, False
    return step, told.get("continued") is True


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
    return citation.quote in step.text or any(citation.quote in text for text in _strings(event(step)))


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
