"""Commands over a submission, run by a runner as it runs sealed tests: in a fresh sandbox without network.

    the submission as it is graded → tar in the bucket `sealed`, work in ft.work.test.<pool> → test_finished

No rubric goes along. The tar lies there as long as the submission is graded.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import tarfile
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2
from firetrial_judge.archive import check_left
from firetrial_judge.judging import SERVICE
from firetrial_judge.kinds.lent import Lent
from firetrial_judge.rubric.looking import SECONDS, SHOWN, Ran, Run
from firetrial_judge.rubric.submission import Submission
from firetrial_kit import events
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_kit.references import ref_to_wire

LOOK = "look-"
"""What the ids of looks and the keys of their copies begin with."""
_RESULTS = "looked.json"
_PROGRAM = (files("firetrial_judge.kinds") / "look_program.py").read_text("utf-8")
_WAIT_S = 300.0
_KEPT = 4 * SHOWN
"""Bytes of a command's output that come back."""
_MAX_PART = 255  # bytes between two slashes of a file's name


@dataclass(slots=True)
class _Copy:
    """A submission's tar: how many read it, and the task that puts it there, once the first wants to."""

    submission: Submission
    key: str
    readers: int = 0
    putting: asyncio.Task[ObjectRef] | None = None


class SandboxedLooker:
    """A `Looker` by the runners of `pool`, which are waited for `wait_s` seconds.

    Whoever grades the same submission at the same time shares one copy.
    """

    def __init__(
        self, objects: Objects, lent: Lent, bus: Bus, clock: Clock, pool: str, *, wait_s: float = _WAIT_S
    ) -> None:
        self._objects, self._lent, self._bus, self._clock = objects, lent, bus, clock
        self._pool, self._wait_s = pool, wait_s
        self._copies: dict[str, _Copy] = {}

    @asynccontextmanager
    async def over(self, submission: Submission) -> AsyncIterator[Run]:
        known = submission.sha256
        copy = self._copies.setdefault(known, _Copy(submission, f"{self._id(known)}/files.tar"))
        copy.readers += 1
        try:
            yield partial(self._run, copy)
        finally:
            copy.readers -= 1
            if not copy.readers:
                del self._copies[known]
                await asyncio.shield(self._removed(copy))

    async def _run(self, copy: _Copy, commands: Sequence[str]) -> list[Ran]:
        ref = await self._there(copy)
        limits = plan_pb2.Limits(output_bytes=1024 * 1024)
        limits.wall_time.FromSeconds(SECONDS * len(commands) + 10)
        wanted = events_pb2.TestRequested(
            run_id=self._id(copy.key, *commands),
            files=ref_to_wire(ref),
            command=program(commands),
            results_file=_RESULTS,
            limits=limits,
            attempt=1,
        )
        told = await self._told(wanted)
        if not told.HasField("results"):
            raise _nobody(told.infra_failure or "the commands left no result")
        check_left(told.results.uri)
        return ran(await self._objects.get(told.results.uri, sha256=told.results.sha256), len(commands))

    def _id(self, *of: str) -> str:
        return LOOK + digest(*of, self._clock.now().isoformat(), length=32)

    async def _there(self, copy: _Copy) -> ObjectRef:
        """Where it lies. A put that was begun is seen to its end, or what it leaves could not be removed."""
        if copy.putting is None or (copy.putting.done() and copy.putting.exception()):
            copy.putting = asyncio.create_task(self._put(copy))
        return await asyncio.shield(copy.putting)

    async def _put(self, copy: _Copy) -> ObjectRef:
        return await self._lent.put(copy.key, await asyncio.to_thread(packed, copy.submission))

    async def _removed(self, copy: _Copy) -> None:
        if copy.putting is not None:
            await asyncio.wait([copy.putting])
            await self._lent.remove(copy.key)

    async def _told(self, wanted: events_pb2.TestRequested) -> events_pb2.TestFinished:
        """Ask, and wait until it is told what came of it."""
        try:
            async with (
                asyncio.timeout(self._wait_s),
                self._bus.follow(events.subject("runner", "test_finished", wanted.run_id)) as facts,
            ):
                await self._bus.publish(
                    events.work(SERVICE, self._pool, wanted.run_id, wanted, clock=self._clock)
                )
                async for fact in facts:
                    if told := fact.parsed(events_pb2.TestFinished):
                        return told
        except TimeoutError:
            raise _nobody(f"no runner of pool {self._pool} took them in {self._wait_s:g} s") from None
        raise _nobody("the broker went away")


def program(commands: Sequence[str]) -> list[str]:
    """What runs them. Isolated (-I): a module of the submission's must not take the place of Python's own."""
    return ["python3", "-I", "-c", _PROGRAM, str(SECONDS), str(_KEPT), *commands]


def packed(submission: Submission) -> bytes:
    """The files as they are graded, without what was taken out of them and without binary ones, as a tar.

    Names that no folder can hold together are left out, or a submission could see to it that nobody looks.
    """
    buffer = io.BytesIO()
    names = {file.name for file in submission.files} | {_RESULTS}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in submission.files:
            if not _fits(file.name, names):
                continue
            data = "".join(f"{line}\n" for line in file.lines).encode("utf-8", "replace")
            member = tarfile.TarInfo(file.name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _fits(name: str, names: Collection[str]) -> bool:
    """Whether no other name is a file where this one has a folder, and no part of it is too long."""
    path = PurePosixPath(name)
    taken = name == _RESULTS or any(str(up) in names for up in path.parents)
    return not taken and all(len(part.encode()) <= _MAX_PART for part in path.parts)


def ran(results: bytes, count: int) -> list[Ran]:
    """What the program in the sandbox tells, one for each command; a stranger's, for commands may forge it.

    Raises UNAVAILABLE for what is no such thing.
    """
    try:
        told: Any = json.loads(results)
        found = [
            Ran(_exit(one["exit"]), base64.b64decode(one["output"])[:_KEPT], cut=bool(one["cut"]))
            for one in told
        ]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _nobody(f"what came back cannot be read: {error}") from error
    if len(found) != count:
        raise _nobody(f"{len(found)} of {count} commands came back")
    return found


def _exit(code: Any) -> int | None:
    """Raises ValueError for what no program exits with."""
    if code is not None and (type(code) is not int or not 0 <= code <= 255):
        raise ValueError(f"{str(code)[:40]!r} is no exit code")
    return code


def _nobody(why: str) -> FiretrialError:
    return FiretrialError(Reason.UNAVAILABLE, f"commands could not be run over the submission: {why}"[:500])
