"""Data that a task names and does not bring: an operator provides it where agents run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from firetrial_kit.errors import Fault

MAX_SOURCES = 50
_PLACE = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*){0,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """A Hugging Face id, or a path below the runners' data folder."""

    name: str
    hugging_face: bool = False

    def __str__(self) -> str:
        return f"hf:{self.name}" if self.hugging_face else self.name


def faults(sources: Iterable[Source], path: str) -> Iterator[Fault]:
    """What is wrong with them."""
    found = list(sources)
    if len(found) > MAX_SOURCES:
        yield Fault(path, f"{len(found)} sources", f"at most {MAX_SOURCES}")
    for index, source in enumerate(found):
        if not _PLACE.fullmatch(source.name) or len(source.name) > 250:
            cure = "must be names of letters, digits, _, . and -, joined by /; none begins with . or -"
            yield Fault(f"{path}[{index}]", source.name, cure)
        elif found.index(source) != index:
            yield Fault(f"{path}[{index}]", str(source), "must be there once")
