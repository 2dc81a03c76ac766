"""What runs need of their machine beside a sandbox; what is missing is told before any of them starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_runner import programs
from firetrial_runner.agent import Agent
from firetrial_runner.egress.ways import Ways
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.gpus.gpus import Gpus
from firetrial_runner.programs import Shelf
from firetrial_runner.task import Source, Task

_ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
DATA = "/data"
"""Where an agent finds the data that an operator provides."""


@dataclass(frozen=True, slots=True)
class Needs:
    """A runner of `pool` has these programs, ways to models and outside, data, and GPUs.

    `images` are patterns of those that agents may name here. It cannot speak for another pool,
    nor for any where `pool` is empty.
    """

    pool: str
    shelf: Shelf
    doors: Doors | None
    data: Path | None
    ways: Ways
    gpus: Gpus
    environments: Path | None = None
    images: tuple[str, ...] = ()

    def check_experiment(
        self,
        pool: str,
        agents: Iterable[Agent],
        model: str,
        tasks: Iterable[Task],
        lost: Iterable[Fault] = (),
    ) -> None:
        """Raises PRECONDITION with all that is missing for an experiment in `pool`.

        That is what is `lost` for every pool and, if the pool is this one's, what this machine lacks.
        """
        found = list(lost)
        if pool == self.pool:
            found += [fault for agent in agents for fault in self._of_agent(agent, model)]
            found += [fault for task in tasks for fault in self._of_task(task)]
        _refuse(found)

    def check_run(self, agent: Agent, model: str, task: Task) -> None:
        """Raises PRECONDITION with all that is missing for one run."""
        _refuse([*self._of_agent(agent, model), *self._of_task(task)])

    def mounts(self, agent: Agent, task: Task) -> dict[str, Path]:
        """What a sandbox is shown read-only, by the path inside."""
        return {**self.shelf.mounts(agent.program), **self.shown(task)}

    def shown(self, task: Task) -> dict[str, Path]:
        """What a sandbox is shown read-only of the task's own needs, by the path inside."""
        data = {f"{DATA}/{source.place}": self._lies(source) for source in task.sources}
        lies = self.offered(task.repository.environment if task.repository else "")
        return {**{to: at for to, at in data.items() if at}, **({str(lies): lies} if lies else {})}

    def environment(self, task: Task) -> dict[str, str]:
        """What commands are told of the environment that the task is made for: its programs come first."""
        return self.programs_first(task.repository.environment if task.repository else "")

    def programs_first(self, environment: str) -> dict[str, str]:
        """The same for an environment by its name."""
        lies = self.offered(environment)
        return {"PATH": f"{lies}/bin:/usr/local/bin:/usr/bin:/bin"} if lies else {}

    def offered(self, environment: str) -> Path | None:
        """Where an environment lies, at its own path: environments are made for one. None where it is not."""
        if self.environments is None or not _ENVIRONMENT.fullmatch(environment):
            return None
        place = (self.environments / environment).resolve()
        return place if (place / "bin").is_dir() else None

    def _of_agent(self, agent: Agent, model: str) -> Iterator[Fault]:
        yield from self.shelf.faults(agent.program)
        if agent.image and not any(fnmatchcase(agent.image, pattern) for pattern in self.images):
            cure = "must be offered by the operator: FIRETRIAL_RUNNER_AGENT_IMAGES of a runner with Docker"
            yield Fault("image", agent.image, cure)
        program = programs.known(agent.program)
        dialect = program.dialect if program else None
        if dialect is not None and not model:
            yield Fault("plan.model", "", f"must name the model that {agent.name} asks")
        elif dialect is not None and self.doors is None:
            yield Fault("program", agent.program, "needs models: give the runner a FIRETRIAL_RUNNER_GATEWAY")
        elif self.doors is not None and model and not self.doors.has(model, dialect):
            spoken = f" and speaks {dialect}'s calls" if dialect else ""
            yield Fault(
                "plan.model", model, f"must be listed by an upstream of the gateway that has it{spoken}"
            )

    def _of_task(self, task: Task) -> Iterator[Fault]:
        yield from self.ways.faults(f"network of {task.id}", task.network)
        if task.repository and task.repository.source is None:
            cure = (
                "must be at hand: the task's definition was imported without it, see what is broken about it"
            )
            yield Fault(f"repository of {task.id}", "no source", cure)
        wanted = task.repository.environment if task.repository else ""
        if wanted and self.offered(wanted) is None:
            offers = self.environments or "a folder that FIRETRIAL_RUNNER_ENVIRONMENTS names"
            cure = f"must be offered by the operator: make it, by the task's recipe, at {offers}/{wanted}"
            yield Fault(f"environment of {task.id}", wanted, cure)
        for source in task.sources:
            if self._lies(source) is None:
                where = self.data / source.place if self.data else "a folder that FIRETRIAL_RUNNER_DATA names"
                yield Fault(
                    f"sources of {task.id}",
                    source.told,
                    f"must be provided by the operator: put it at {where}",
                )

    def _lies(self, source: Source) -> Path | None:
        """Where the operator has put it; None where that is nowhere, or leads out of the data folder."""
        if self.data is None:
            return None
        place = (self.data / source.place).resolve()
        return place if place.exists() and place.is_relative_to(self.data.resolve()) else None


def _refuse(faults: Iterable[Fault]) -> None:
    found = tuple(dict.fromkeys(faults))
    if found:
        told = "; ".join(str(fault) for fault in found)
        raise FiretrialError(Reason.PRECONDITION, f"what the runs need is missing: {told}", faults=found)
