"""A repository that an agent improves: what it may hand in, and what a validation's results say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from firetrial_kit.improvement import number, primary_metric
from firetrial_kit.objects import ObjectRef

MAX_STEPS = 1000
MAX_TEXT = 2 * 1024 * 1024
MAX_TEXTS = 8 * 1024 * 1024
"""Bytes of one target file, and of all of a step."""
MAX_IDEA = 2000
MAX_RESULTS = 1024 * 1024
_MAX_METRICS = 100
_MAX_NAMES = 2000
"""Characters of the names of all metrics: MAX_STEPS steps have to be read whole by whoever judges them."""


@dataclass(frozen=True, slots=True)
class Field:
    """A setting of the split, and what is allowed for it, both ends included."""

    name: str
    least: float
    most: float
    whole: bool = False

    def fault(self, value: object) -> str:
        """What is wrong with a value, "" for nothing."""
        found = number(value)
        kind = "a whole number" if self.whole else "a number"
        if found is not None and self.least <= found <= self.most and not (self.whole and found % 1):
            return ""
        return f"{self.name} is {str(value)[:50]!r}: must be {kind} from {self.least:g} to {self.most:g}"


@dataclass(frozen=True, slots=True)
class Split:
    """The target file, JSON, by which an agent may set how visible data is split."""

    file: str
    fields: tuple[Field, ...]

    def findings(self, text: str) -> Iterator[str]:
        """What a text of it asks for that is not allowed. A field that is left out has its default."""
        try:
            told = json.loads(text, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            yield f"{self.file} is no JSON object that has each name once"
            return
        known = {field.name: field for field in self.fields}
        for name, value in told.items():
            if name not in known:
                yield f"{self.file} sets {str(name)[:50]!r}, which it may not"
            elif fault := known[name].fault(value):
                yield f"{self.file}: {fault}"


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object that all readers read alike. Raises ValueError where a name is there twice."""
    told = dict(pairs)
    if len(told) < len(pairs):
        raise ValueError("a name is there twice")
    return told


@dataclass(frozen=True, slots=True)
class Metric:
    """Where a file of results tells the figure: see `firetrial_kit.improvement.primary_metric`."""

    key: str
    datasets: tuple[str, ...]
    results_file: str


@dataclass(frozen=True, slots=True)
class Repository:
    """What a task of this kind gives. Commands are run in the source's folder; `step_s` bounds each of them.

    Without `protected`, every file that is no target is. Without a `source`, it cannot be run: a definition
    was imported whose repository is not at hand.
    """

    source: ObjectRef | None
    targets: tuple[str, ...]
    protected: tuple[str, ...]
    command: tuple[str, ...]
    metric: Metric
    max_steps: int = 100
    step_s: float = 600.0
    split: Split | None = None
    score_command: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    environment: str = ""


@dataclass(frozen=True, slots=True)
class HandIn:
    """What an agent hands in as a step: its idea, and texts by path."""

    idea: str
    files: Mapping[str, str]


class Refused(Exception):  # noqa: N818 -- an answer, not an error
    """What is handed in is no step; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def read(body: Mapping[str, object]) -> HandIn:
    """A step from JSON. Raises Refused with what is wrong with its form."""
    idea, files = body.get("idea", ""), body.get("files")
    if not isinstance(idea, str):
        raise Refused(400, "idea must be a text")
    if not isinstance(files, dict) or not files:
        raise Refused(400, "files must be an object with the text of at least one target file by its path")
    weights = [_weight(path, text) for path, text in files.items()]
    if max(weights) > MAX_TEXT or sum(weights) > MAX_TEXTS:
        raise Refused(413, f"files may hold {MAX_TEXT} bytes each and {MAX_TEXTS} in all")
    return HandIn(idea.encode(errors="replace").decode()[:MAX_IDEA], dict(files))


def _weight(path: str, text: object) -> int:
    if not isinstance(text, str):
        raise Refused(400, f"files[{ascii(path)[:200]}] must be a text")
    try:
        return len(path.encode()) + len(text.encode())
    except UnicodeEncodeError:
        raise Refused(400, f"files[{ascii(path)[:200]}] holds what UTF-8 cannot") from None


def findings(repository: Repository, handed: HandIn) -> Iterator[str]:
    """What is handed in that may not change; each of these makes a step void."""
    for path in handed.files:
        if path not in repository.targets:
            yield f"{path[:200]!r} was handed in, which is no target file"
    split = repository.split
    if split is not None and split.file in handed.files:
        yield from split.findings(handed.files[split.file])


@dataclass(frozen=True, slots=True)
class Results:
    """The task's metric, and every number of the file by "dataset/name" or "name"."""

    metric: float
    metrics: Mapping[str, float]


def results(metric: Metric, data: bytes) -> Results | str:
    """What a file of results says, or why it says nothing. The file is a stranger's."""
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return f"{metric.results_file} is no JSON"
    if not isinstance(told, dict):
        return f"{metric.results_file} is no JSON object"
    found = primary_metric(told, metric.key, metric.datasets or None)
    if found is None:
        return f"{metric.results_file} has no number at {metric.key}"
    return Results(found, dict(_kept(_numbers(told))))


def _kept(numbers: Iterator[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """The first of them, under names that UTF-8 can hold."""
    room = _MAX_NAMES
    for name, figure in islice(numbers, _MAX_METRICS):
        room -= len(name)
        if room < 0:
            return
        yield name.encode(errors="replace").decode(), figure


def _numbers(told: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    for name, value in told.items():
        means = value.get("means") if isinstance(value, dict) else None
        for below, inner in means.items() if isinstance(means, dict) else ():
            if (figure := number(inner)) is not None:
                yield f"{name}/{below}"[:200], figure
        if (figure := number(value)) is not None:
            yield name[:200], figure
