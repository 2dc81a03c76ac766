"""The catalogue as data, and each of its tasks as the parser service takes it.

It holds findings, so that no sandbox may show it: see the runner's `unseen`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_parser.addresses import Addresses
from firetrial_parser.instruction import instruct
from firetrial_parser.rating import AXES, Difficulty

ORIGIN = "catalogue"


@dataclass(frozen=True, slots=True)
class Entry:
    """A task with its paper. `published` is the month of the arXiv id; `findings` are secret.

    `cutoffs` are the days up to which models were trained, as the benchmark's publication has them.
    """

    name: str
    title: str
    venue: str
    year: int
    arxiv: str
    published: str
    difficulty: Difficulty
    question: str
    scope: tuple[str, ...]
    findings: tuple[str, ...]
    cutoffs: Mapping[str, str]

    @property
    def sides(self) -> dict[str, str]:
        """For each model whether the paper could be read "before" or "after" its cutoff, by month.

        A paper of the cutoff's own month is "after": it is not known to have been seen.
        """
        return {
            model: "before" if self.published < day[:7] else "after" for model, day in self.cutoffs.items()
        }

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the task needs and the catalogue does not bring."""
        data = [line for line in self.scope if line.startswith("Data:") and "data/" in line]
        cure = "hand the files in with the task; the official repository has them"
        return tuple(f"{line.removeprefix('Data: ')}: {cure}" for line in data)

    def submission(self) -> dict[str, Any]:
        """The fields of `TaskHeader`, by name."""
        return {
            "slug": self.name.replace("_", "-"),
            "question": self.question,
            "instruction": instruct(self.question, self.scope),
            "ground_truth": " ".join(self.findings),
            "broken": list(self.lacks),
            "origin": ORIGIN,
            "difficulty": {
                **{axis: getattr(self.difficulty, axis) for axis in AXES},
                "rated_by": self.difficulty.rated_by,
            },
            "published": self.published,
            "network": {"denied": list(Addresses(arxiv=self.arxiv).denied())},
        }

    def to_json(self, *, with_truth: bool) -> dict[str, Any]:
        """All that is known of it; the findings only where they are asked for."""
        shown: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "venue": self.venue,
            "year": self.year,
            "arxiv": self.arxiv,
            "published": self.published,
            "difficulty": {**{axis: getattr(self.difficulty, axis) for axis in AXES}, "level": self.level},
            "sides": self.sides,
            "question": self.question,
            "scope": list(self.scope),
        }
        return shown | ({"findings": list(self.findings)} if with_truth else {})

    @property
    def level(self) -> str:
        """Easy, medium or hard."""
        return self.difficulty.level


def read_catalogue() -> list[Entry]:
    """All tasks, sorted by name."""
    data = json.loads((files("firetrial_parser.catalogue") / "tasks.json").read_text("utf-8"))
    return [_entry(task, data["rated_by"], data["cutoffs"]) for task in data["tasks"]]


def named(names: tuple[str, ...]) -> list[Entry]:
    """The tasks with these names, "-" and "_" alike. Raises NOT_FOUND with every name that is none."""
    known = {entry.name: entry for entry in read_catalogue()}
    wanted = [name.replace("-", "_") for name in names]
    faults = [
        Fault("task", name, "must be a name of `firetrial tasks catalogue`")
        for name in wanted
        if name not in known
    ]
    if faults:
        raise FiretrialError(Reason.NOT_FOUND, "; ".join(map(str, faults)), faults=faults)
    return [known[name] for name in wanted]


def _entry(task: Mapping[str, Any], rated_by: str, cutoffs: Mapping[str, str]) -> Entry:
    lists = {name: tuple(task[name]) for name in ("scope", "findings")}
    difficulty = Difficulty(**task["difficulty"], rated_by=rated_by)
    return Entry(**{**task, **lists, "difficulty": difficulty, "cutoffs": cutoffs})
