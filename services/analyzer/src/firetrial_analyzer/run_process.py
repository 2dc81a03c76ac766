"""The process metrics of one run, from its steps as they come in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firetrial_analyzer.embedding import Embedder
from firetrial_analyzer.process import Exploration, Matrix, exploration
from firetrial_analyzer.process_cli import measure
from firetrial_analyzer.process_steps import StepCounts, StepRates, step_rates
from firetrial_analyzer.snapshots import Workspace
from firetrial_analyzer.taxonomy.actions import Action, Kind, Stream
from firetrial_analyzer.taxonomy.steps import Step
from firetrial_kit.errors import FiretrialError
from firetrial_kit.improvement import Direction

# Distances between all of them are computed: with more, every second one is left out, again and again.
MAX_SNAPSHOTS = 1000
RECORD = "val_primary_metrics"
_MAX_RECORD = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RunProcess:
    """How one run explored and improved; None is undefined or unknown.

    `steps` are the commands that the agent ran. Exploration is over the code after each edit, and the
    baseline is the code after the first one. `best_so_far`, in the metric's own unit, and what comes after it
    are from the last record of steps that the run printed.
    """

    steps: int
    rates: StepRates
    exploration: Exploration
    embedder: str
    snapshots: int
    best_so_far: tuple[float, ...] = ()
    late_gain_fraction: float | None = None
    first_improvement_step: int | None = None
    auc: float | None = None


class Watching:
    """Takes the steps of a run, and then says what they come to."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._stream = Stream()
        self._workspace = Workspace()
        self._vectors: list[Matrix] = []
        self._stride = 1
        self._edits = 0
        self._commands: set[int] = set()
        self._failed: set[int] = set()
        self._record: dict[str, object] = {}

    def step(self, step: Step) -> None:
        """Take the next step of the trajectory."""
        for action in self._stream.feed(step):
            self._see(action)

    def result(self, tokens: int | None = None, seconds: float | None = None) -> RunProcess:
        """All that the steps come to; `tokens` and `seconds` are those of the whole run."""
        for action in self._stream.close():
            self._see(action)
        told = self._measured()
        assigned = self._record.get("assigned_steps")
        counts = StepCounts(
            executed=len(self._commands),
            valid=len(self._commands - self._failed),
            assigned=assigned if isinstance(assigned, int) and assigned > 0 else None,
            tokens=tokens,
            seconds=seconds,
        )
        return RunProcess(
            steps=len(self._commands),
            rates=step_rates(counts),
            exploration=self._exploration(),
            embedder=self._embedder.name,
            snapshots=self._edits,
            best_so_far=_best_so_far(self._record) if told else (),
            late_gain_fraction=_number(told.get("late_gain_fraction")),
            first_improvement_step=_whole(told.get("first_improvement_step")),
            auc=_number(told.get("auc")),
        )

    def _see(self, action: Action) -> None:
        if action.kind is Kind.RUN:
            self._commands.add(action.step)
            if action.failed:
                self._failed.add(action.step)
        for line in action.lines:
            if RECORD in line.text and len(line.text) <= _MAX_RECORD:
                self._recorded(line.text)
        if self._workspace.see(action):
            self._snapshot()

    def _snapshot(self) -> None:
        if self._edits % self._stride == 0:
            self._vectors.append(self._embedder.embed([self._workspace.code])[0])
        self._edits += 1
        if len(self._vectors) > MAX_SNAPSHOTS:
            self._vectors = self._vectors[::2]
            self._stride *= 2

    def _exploration(self) -> Exploration:
        if not self._vectors:
            return exploration(None, None)
        return exploration(np.array(self._vectors), self._vectors[0])

    def _recorded(self, text: str) -> None:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict) and isinstance(found.get(RECORD), list):
            self._record = found

    def _measured(self) -> dict[str, object]:
        """What `firetrial process-metrics` makes of the record; nothing where it is not valid."""
        if not self._record:
            return {}
        try:
            return measure({key: value for key, value in self._record.items() if "embedding" not in key})
        except FiretrialError:
            return {}


def _best_so_far(record: dict[str, object]) -> tuple[float, ...]:
    """After each step, the best value up to it and of the baseline; left out while there is none."""
    values = record[RECORD]
    better = max if record.get("direction") == Direction.HIGHER else min
    best = _number(record.get("baseline_primary_metric"))
    curve: list[float] = []
    for value in values if isinstance(values, Sequence) else ():
        told = _number(value)
        if told is not None:
            best = told if best is None else better(best, told)
        if best is not None:
            curve.append(best)
    return tuple(curve)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
