"""Commands over a submission, run by a runner as it runs sealed tests: in a fresh sandbox without network.

    the submission as it is graded → tar in the bucket `sealed`, work in ft.work.test.<pool> → test_finished

No rubric goes along, and the tar lies there as long as the commands take.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2
from firetrial_judge.judging import SERVICE
from firetrial_judge.rubric.looking import SECONDS, SHOWN, Ran
from firetrial_judge.rubric.submission import Submission
from firetrial_kit import events
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.objects import Objects
from firetrial_kit.references import ref_to_wire

_BUCKET, _RESULTS = "sealed", "looked.json"
_PROGRAM = (files("firetrial_judge.kinds") / "look_program.py").read_text("utf-8")
_WAIT_S = 300.0
_KEPT = 4 * SHOWN
"""Bytes of a command's output that come back."""


@dataclass(frozen=True, slots=True)
class SandboxedLooker:
    """A `Looker` by the runners of `pool`, which are waited for `wait_s` seconds."""

    objects: Objects
    bus: Bus
    clock: Clock
    pool: str
    wait_s: float = _WAIT_S

    async def run(self, submission: Submission, commands: Sequence[str]) -> list[Ran]:
        """One for each command. Raises UNAVAILABLE where no runner has run them in time."""
        id_ = "look-" + digest(submission.sha256, list(commands), self.clock.now().isoformat(), length=32)
        tar = await asyncio.to_thread(packed, submission)
        ref = await self.objects.put(_BUCKET, f"{id_}/files.tar", tar, "application/x-tar")
        try:
            limits = plan_pb2.Limits(output_bytes=1024 * 1024)
            limits.wall_time.FromSeconds(SECONDS * len(commands) + 10)
            wanted = events_pb2.TestRequested(
                run_id=id_,
                files=ref_to_wire(ref),
                command=["python3", "-c", _PROGRAM, str(SECONDS), str(_KEPT), *commands],
                results_file=_RESULTS,
                limits=limits,
                attempt=1,
            )
            told = await self._told(wanted)
        finally:
            await asyncio.shield(self.objects.delete(ref.uri))
        if not told.HasField("results"):
            raise _nobody(told.infra_failure or "the commands left no result")
        return ran(await self.objects.get(told.results.uri, sha256=told.results.sha256), len(commands))

    async def _told(self, wanted: events_pb2.TestRequested) -> events_pb2.TestFinished:
        """Ask, and wait until it is told what came of it."""
        try:
            async with (
                asyncio.timeout(self.wait_s),
                self.bus.follow(events.subject("runner", "test_finished", wanted.run_id)) as facts,
            ):
                await self.bus.publish(
                    events.work(SERVICE, self.pool, wanted.run_id, wanted, clock=self.clock)
                )
                async for fact in facts:
                    if told := fact.parsed(events_pb2.TestFinished):
                        return told
        except TimeoutError:
            raise _nobody(f"no runner of pool {self.pool} took them in {self.wait_s:g} s") from None
        raise _nobody("the broker went away")


def packed(submission: Submission) -> bytes:
    """The files as they are graded, without what was taken out of them and without binary ones, as a tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in submission.files:
            data = "".join(f"{line}\n" for line in file.lines).encode("utf-8", "replace")
            member = tarfile.TarInfo(file.name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


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
