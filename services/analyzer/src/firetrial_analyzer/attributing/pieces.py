"""The trajectory in parts that a model can read: numbered lines, each part within a budget of characters.

Nothing is left out where the parts suffice. Where they do not, the trajectory is reduced until it fits, in
this order: of each stretch of output that belongs to one action the first and last lines are kept, ever fewer
of them (64, 32, … 1); then whole parts are left out of the middle. What the agent did and said, what befell
it and what a signal cites is kept to the last. A long line loses its middle. All that is left out is told.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from firetrial_analyzer.taxonomy.steps import Step, StepKind

# Characters of one line: its begin and its end.
_BEGIN, _END = 1400, 600
_FIRST_EDGE = 64


@dataclass(frozen=True, slots=True)
class Size:
    """Characters of one part, and parts of one run."""

    characters: int = 24_000
    parts: int = 40


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of the trajectory, from step `first` to step `last`."""

    first: int
    last: int
    text: str


@dataclass(frozen=True, slots=True)
class Parts:
    parts: tuple[Part, ...]
    left_out: tuple[str, ...] = ()


def parts(steps: Sequence[Step], weighty: Collection[int], size: Size) -> Parts:
    """The parts, in order; `weighty` are the numbers of the steps that are kept to the last."""
    lines = [_Line(step, step.what is not StepKind.OUTPUT or step.number in weighty) for step in steps]
    kept, edge = lines, _FIRST_EDGE
    while _too_many(kept, size) and edge:
        kept = list(_reduced(lines, edge))
        edge //= 2
    found = list(_packed(kept, size.characters))
    told = []
    if len(kept) < len(lines):
        dropped = len(lines) - len(kept)
        told.append(f"the model was not shown {dropped} of {len(lines)} lines, from the middle of outputs")
    if len(found) > size.parts:
        head = (size.parts + 1) // 2
        tail = len(found) - (size.parts - head)
        told.append(f"the model was not shown steps {found[head].first} to {found[tail - 1].last}")
        found = [*found[:head], *found[tail:]]
    if cuts := sum(line.cut for line in kept):
        told.append(f"the model was shown long lines without their middle, {cuts} characters in all")
    return Parts(tuple(found), tuple(told))


def shown(text: str) -> str:
    """`text` as a model is shown it, and quotes are compared: one space between words, no control codes."""
    if not text.isascii() or not text.isprintable():
        text = "".join(c if unicodedata.category(c) not in ("Cc", "Cf") else _blank(c) for c in text)
    return " ".join(text.split())


def _blank(char: str) -> str:
    return " " if char.isspace() else ""


class _Line:
    """A step as it is shown."""

    __slots__ = ("cut", "last", "number", "text", "weighty")

    def __init__(self, step: Step, weighty: bool) -> None:
        self.number, self.last, self.weighty = step.number, step.last, weighty
        text = shown(step.text)
        self.cut = max(0, len(text) - _BEGIN - _END)
        if self.cut:
            text = f"{text[:_BEGIN]} […{self.cut} characters…] {text[-_END:]}"
        # Output is most of it, and needs no word.
        name = "" if step.what is StepKind.OUTPUT else f"({step.what}) "
        self.text = f"[{step.number}] {name}{text}"

    @property
    def size(self) -> int:
        return len(self.text) + 1


def _too_many(lines: Sequence[_Line], size: Size) -> bool:
    return sum(line.size for line in lines) > size.characters * size.parts


def _reduced(lines: Sequence[_Line], edge: int) -> Iterator[_Line]:
    for weighty, group in groupby(lines, key=lambda line: line.weighty):
        stretch = list(group)
        if weighty or len(stretch) <= 2 * edge:
            yield from stretch
        else:
            yield from stretch[:edge]
            yield from stretch[-edge:]


def _packed(lines: Sequence[_Line], characters: int) -> Iterator[Part]:
    taken: list[_Line] = []
    room = characters
    for line in lines:
        if taken and line.size > room:
            yield _part(taken)
            taken, room = [], characters
        taken.append(line)
        room -= line.size
    if taken:
        yield _part(taken)


def _part(lines: Sequence[_Line]) -> Part:
    return Part(lines[0].number, lines[-1].last, "\n".join(line.text for line in lines))
