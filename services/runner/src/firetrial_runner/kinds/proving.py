"""Commands over files that were laid out for them, each in a fresh sandbox without network.

Nothing that an agent left is near: neither its workspace nor its environment. Where a task scores apart, the
first sandbox holds what the agent changed and writes outputs, and the second one holds what makes results of
them: code of the agent never runs where its results are made.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner import workspace
from firetrial_runner.archive import open_regular
from firetrial_runner.gpus.device import NOTHING, Demand, Gpu
from firetrial_runner.kinds.repository import MAX_RESULTS
from firetrial_runner.metrics import SandboxMetrics
from firetrial_runner.sandbox.port import Exit, Limits, Process, Sandbox, SandboxSpec, Termination
from firetrial_runner.stoppable import in_thread

MAX_OUTPUT = 64 * 1024 * 1024
MAX_OUTPUTS = 4 * MAX_OUTPUT
"""Bytes of one output that goes from the first sandbox to the second, and of all: they lie in memory."""
KEPT = 64 * 1024
"""Bytes kept of the end of what commands write."""
_GRACE_S = 60.0
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONHASHSEED": "0"}

Lay = Callable[[Path], None]
"""Lays out a folder that does not exist yet."""


class LostError(Exception):
    """Infrastructure kept a command from its end."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where commands are run: below `folder`, in sandboxes that bear `lease`, by what the machine offers."""

    sandbox: Sandbox
    metrics: SandboxMetrics
    folder: Path
    lease: str
    limits: Limits
    gpus: tuple[Gpu, ...] = ()
    mounts: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    demand: Demand = NOTHING


@dataclass(frozen=True, slots=True)
class Stage:
    """A command over what `lay` lays out."""

    command: tuple[str, ...]
    lay: Lay


@dataclass(frozen=True, slots=True)
class Proof:
    """What is to be run. With a `score`, `outputs` of the first stage are laid into its folder.

    `watched` is told of what the first command left, and says what was wrong with it.
    """

    stage: Stage
    results_file: str
    score: Stage | None = None
    outputs: tuple[str, ...] = ()
    watched: Callable[[Path], list[str]] = lambda _: []


@dataclass(frozen=True, slots=True)
class Proved:
    """How the last command ended, the results that it left, the end of all output, and what was found."""

    end: Exit
    results: bytes | None
    output: bytes
    findings: tuple[str, ...] = ()


def well(end: Exit) -> bool:
    """Whether a command ended as one does that did what it should."""
    return end.termination is Termination.EXITED and end.code == 0


async def prove(place: Place, key: str, proof: Proof) -> Proved:
    """Run it. `key` names its sandboxes. Raises LostError, and SandboxError."""
    first, tail = place.folder / "first", deque[bytes]()
    try:
        end = await _run(place, f"{key}-1", first, proof.stage, tail)
        found = await asyncio.to_thread(proof.watched, first)
        if proof.score is None or not well(end):
            results = await asyncio.to_thread(_results, first, proof.results_file, found)
            return Proved(end, results if proof.score is None else None, _end_of(tail), tuple(found))
        if await asyncio.to_thread(_is_there, first / proof.results_file):
            found.append(f"{proof.results_file} was written where no results are made; it is not used")
        carried = await asyncio.to_thread(_carried, first, proof.outputs, found)
        second, score = place.folder / "second", proof.score

        def lay(folder: Path) -> None:
            score.lay(folder)
            _lay_in(folder, carried)

        end = await _run(place, f"{key}-2", second, replace(score, lay=lay), tail)
        results = await asyncio.to_thread(_results, second, proof.results_file, found)
        return Proved(end, results, _end_of(tail), tuple(found))
    finally:
        await asyncio.shield(asyncio.to_thread(workspace.remove, place.folder))


async def _run(place: Place, key: str, folder: Path, stage: Stage, tail: deque[bytes]) -> Exit:
    await in_thread(lambda _: stage.lay(folder))
    spec = SandboxSpec(
        run_key=key,
        lease=place.lease,
        argv=stage.command,
        workspace=folder,
        env={**_ENVIRONMENT, **place.environment},
        read_only=place.mounts,
        limits=place.limits,
        gpus=place.gpus,
        demand=place.demand,
    )
    with place.metrics.starting(place.sandbox.name):
        process = await place.sandbox.start(spec)
    async with aclosing(process):
        try:
            async with asyncio.timeout(place.limits.wall_s + _GRACE_S):
                await _follow(process, tail)
                end = await process.wait()
        except TimeoutError:
            raise LostError("the sandbox did not end in time") from None
    place.metrics.ended(place.sandbox.name, end.termination)
    if end.termination in {Termination.LOST, Termination.CANCELLED}:
        raise LostError(end.detail or "the sandbox was lost")
    return end


async def _follow(process: Process, tail: deque[bytes]) -> None:
    """Keep the end of what it writes, behind what was written before."""
    size = sum(map(len, tail))
    async for chunk in process.output():
        tail.append(chunk.data)
        size += len(chunk.data)
        while size - len(tail[0]) > KEPT:
            size -= len(tail.popleft())


def _end_of(tail: deque[bytes]) -> bytes:
    return b"".join(tail)[-KEPT:]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _results(folder: Path, name: str, found: list[str]) -> bytes | None:
    """The file of results, where it is one: a link could lead to any file that this runner may read."""
    return _taken(folder, name, MAX_RESULTS, found)


def _taken(folder: Path, name: str, most: int, found: list[str]) -> bytes | None:
    """A file that a command left. What shuts the runner out is the command's own doing, and no file."""
    path = folder / name
    try:
        if any(part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(folder)):
            found.append(f"{name} is a link, or lies behind one; it is not followed")
            return None
        opened = open_regular(path)
    except OSError:
        return None
    if opened is None:
        found.append(f"{name} is no regular file")
        return None
    with opened as file:
        data = file.read(most + 1)
    if len(data) > most:
        found.append(f"{name} has more than {most} bytes")
        return None
    return data


def _carried(folder: Path, outputs: tuple[str, ...], found: list[str]) -> dict[str, bytes]:
    taken: dict[str, bytes] = {}
    room = MAX_OUTPUTS
    for name in outputs:
        data = _taken(folder, name, min(MAX_OUTPUT, room), found)
        if data is not None:
            taken[name] = data
            room -= len(data)
    return taken


def _lay_in(folder: Path, files: Mapping[str, bytes]) -> None:
    """Lay outputs into a folder. Nothing that lies there gives way: an output is no code of the scorer's."""
    for name, data in files.items():
        path = folder / name
        if path.exists():
            raise FiretrialError(Reason.PRECONDITION, f"the output {name!r} would replace a file of the task")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def laid_over(source: Path, folder: Path, files: Mapping[str, str], without: tuple[str, ...] = ()) -> None:
    """A copy of `source` at `folder` with these texts in it, and without files that a command is to write."""
    shutil.copytree(source, folder)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    for name in without:
        (folder / name).unlink(missing_ok=True)
