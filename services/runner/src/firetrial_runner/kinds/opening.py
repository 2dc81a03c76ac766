"""What a run has by its task's kind, opened before its agent starts and closed when it has ended."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef
from firetrial_runner import archive
from firetrial_runner.conclusion import Conclusion
from firetrial_runner.gateway.gateway import Door
from firetrial_runner.gateway.session import RunClock
from firetrial_runner.kinds.follow_up import FollowUp, paper
from firetrial_runner.kinds.pinned import REPO, Pinned
from firetrial_runner.kinds.proving import Place
from firetrial_runner.kinds.repository import Repository
from firetrial_runner.kinds.repository_wire import steps_to_lines
from firetrial_runner.kinds.step_door import StepDoor
from firetrial_runner.kinds.steps import Keeping, Made, Steps
from firetrial_runner.kinds.validation import Validator
from firetrial_runner.run import RunUsage
from firetrial_runner.sandbox.port import WORKSPACE, Gateway
from firetrial_runner.stoppable import Check, in_thread
from firetrial_runner.tape import Watch
from firetrial_runner.trajectory import Kind, Recorder, Told
from firetrial_runner.workspace import Workspace

PROVIDED = "/opt/firetrial"
"""Where an agent finds the program by which it hands in a step."""
STEPS = "steps.jsonl"
_PROGRAMS = ("step.py", "firetrial_step.py")

Fetch = Callable[[ObjectRef, Path], Awaitable[Path]]
Put = Callable[[str, bytes, str], Awaitable[object]]
"""Stores an object of the run, by its name."""


@dataclass(slots=True)
class _Clock:
    """The clock of the run, once there is one."""

    run: RunClock | None = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """It stands still while inside."""
        clock = self.run
        if clock is not None:
            clock.pause()
        try:
            yield
        finally:
            if clock is not None:
                clock.resume()


@dataclass(frozen=True, slots=True)
class Special:
    """What a kind adds to a run. `said` is what it came to where the agent concluded nothing itself."""

    gateway: Gateway | None
    mounts: Mapping[str, Path] = field(default_factory=dict)
    said: Callable[[], str] = lambda: ""
    clock: _Clock = field(default_factory=_Clock)
    source: str = "its steps"

    def conclusion(self) -> Conclusion | None:
        said = self.said()
        return Conclusion(said, self.source) if said else None


@dataclass(frozen=True, slots=True)
class Around:
    """What a run is made in. `put` stores an object of it, `place` is where its validations are run.

    `stepped` is told the state of each step, and the seconds that it took.
    """

    run_id: str
    workspace: Workspace
    place: Place
    recorder: Recorder
    watch: Watch
    door: Door | None
    put: Put
    stepped: Callable[[str, float], None]


async def prepare(repository: Repository, workspace: Workspace, fetch: Fetch) -> Workspace:
    """Lay out the source beside the workspace, and the agent's copy in it. Raises INVALID, PRECONDITION."""
    if repository.source is None:
        raise FiretrialError(Reason.PRECONDITION, "the task's repository is not at hand")
    source = workspace.folder / "source"
    tar = await fetch(repository.source, workspace.folder / "incoming" / "source.tar")

    def lay(go_on: Check) -> Pinned:
        for folder in (source, workspace.files / REPO):
            archive.unpack(tar, folder, archive.DATA, go_on)
        _provide(workspace.folder / "provided")
        return Pinned.of(source, repository, go_on)

    pinned = await in_thread(lay)
    tar.unlink()
    path = ":".join(filter(None, (workspace.env.get("PYTHONPATH"), PROVIDED)))
    env = {
        **workspace.env,
        "PYTHONPATH": path,
        "FIRETRIAL_REPOSITORY": f"{WORKSPACE}/{REPO}",
        "FIRETRIAL_TARGETS": json.dumps(repository.targets),
    }
    given = frozenset(f"{REPO}/{name}" for name in pinned.hashes)
    return replace(workspace, env=env, given=given, pinned=pinned)


def _provide(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    for name in _PROGRAMS:
        program = resources.files("firetrial_runner.provided").joinpath(name)
        (folder / name).write_bytes(program.read_bytes())


@asynccontextmanager
async def opened(
    repository: Repository | None, follow_up: FollowUp | None, around: Around
) -> AsyncIterator[Special]:
    """Open what a run has; nothing but its models' door where its task has no repository."""
    pinned = around.workspace.pinned
    if follow_up is not None:
        yield Special(around.door, said=lambda: paper(around.workspace.files), source="its paper")
        return
    if repository is None or pinned is None:
        yield Special(around.door)
        return
    clock = _Clock()
    steps = _steps(repository, pinned, around, clock)
    door = StepDoor(steps.take, around.door)
    mounts = {
        **pinned.mounts(f"{WORKSPACE}/{REPO}"),
        PROVIDED: around.workspace.folder / "provided",
        **around.place.mounts,
    }
    try:
        yield Special(door, mounts, steps.summary, clock)
    finally:
        await door.aclose()


def _steps(repository: Repository, pinned: Pinned, around: Around, clock: _Clock) -> Steps:
    async def tell(text: str, told: Mapping[str, object] | None) -> None:
        fields = {"validation": told} if told else {}
        await around.recorder.tell(Told(Kind.EVENT, text, fields), around.watch.offset())

    async def keep_text(name: str, text: bytes) -> None:
        await around.put(f"targets/{name}", text, "text/plain; charset=utf-8")

    async def keep_steps(made: list[Made]) -> None:
        await around.put(STEPS, steps_to_lines(made), "application/jsonl")

    session = around.door.session if around.door else None

    def tokens() -> int | None:
        return session.used(RunUsage(None, None, None, 0, 0)).tokens if session else None

    return Steps(
        around.run_id,
        Validator(repository, pinned, around.place, clock.stopped),
        around.workspace.files / REPO,
        Keeping(keep_text, keep_steps, tell, around.stepped),
        tokens=tokens,
        offset=around.watch.offset,
    )
