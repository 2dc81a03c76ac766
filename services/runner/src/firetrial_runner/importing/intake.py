"""The intake of runs that were made elsewhere: a file comes in, a finished run comes out, and is told."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from firetrial.plan.v1 import plan_pb2
from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_runner import keys
from firetrial_runner.agents import Agents
from firetrial_runner.allowance import Allowance
from firetrial_runner.announce import Announcer
from firetrial_runner.experiments import Experiments
from firetrial_runner.importing import reading
from firetrial_runner.importing.imported import Imported
from firetrial_runner.importing.reading import Found
from firetrial_runner.records import Books, RunRecord
from firetrial_runner.run import MAX_REASON, Origin, Outcome, Run, RunState
from firetrial_runner.wire import slip_to_domain

MAX_FILE = 2 * 1024**3
MAX_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Intake:
    """`lease` marks what is left in `work_dir` should this runner die."""

    books: Books
    objects: Objects
    agents: Agents
    experiments: Experiments
    announce: Announcer
    clock: Clock
    work_dir: Path
    lease: str

    async def take(
        self, told: Imported, slip: plan_pb2.Slip | None, chunks: AsyncIterator[bytes]
    ) -> RunRecord:
        """Take a run in; the same again gives the same and changes nothing.

        Raises INVALID with every fault, NOT_FOUND for a task that does not exist, TOO_LARGE for the file.
        """
        check("the run", told.faults())
        with tempfile.TemporaryDirectory(
            dir=self.work_dir, prefix="import-", suffix=f".{self.lease}"
        ) as folder:
            path = Path(folder) / "source"
            sha256 = await _spool(chunks, path)
            return await self._taken(told, slip, path, sha256)

    async def _taken(self, told: Imported, slip: plan_pb2.Slip | None, path: Path, sha256: str) -> RunRecord:
        run_id = tenants.beside(told.task_id, f"r-{digest('imported', *_parts(told), sha256, length=20)}")
        if slip is not None:
            run_id = await self.experiments.join(told, slip)
        else:
            await self.experiments.see_tasks((told.task_id,))
        record = await self.books.runs.find(run_id)
        if record is None:
            record = await self._make(run_id, told, slip, path)
        elif record.run.origin is None or record.run.origin.source.sha256 != sha256:
            cure = f"is taken by {run_id}, of another file: give this one another repeat"
            raise invalid("the run", [Fault("header.repeat", str(told.repeat), cure)])
        await self.announce.finished(record)
        return record

    async def _make(self, run_id: str, told: Imported, slip: plan_pb2.Slip | None, path: Path) -> RunRecord:
        """Objects, then state. The caller sends the event."""

        async def sink(name: str, data: bytes) -> None:
            await self.objects.put(keys.BUCKET, keys.of_run(run_id, name), data, "application/gzip")

        found = await reading.read(path, told, sink)
        await self.agents.submit_elsewhere(told)
        run = replace(
            _run(run_id, told, found, self.clock.now()),
            experiment_id=slip.experiment_id if slip else "",
            conclusion=await self._put_conclusion(run_id, found.conclusion),
            origin=Origin(
                found.provenance, found.lacking, await self._put_source(run_id, path), told.made_by
            ),
        )
        await self.books.runs.create(run_id, RunRecord(run, slip_to_domain(slip) if slip else ""))
        return await self.books.runs.get(run_id)

    async def _put_conclusion(self, run_id: str, text: bytes) -> ObjectRef | None:
        if not text:
            return None
        key = keys.of_run(run_id, "conclusion.txt")
        return await self.objects.put(keys.BUCKET, key, text, "text/plain; charset=utf-8")

    async def _put_source(self, run_id: str, path: Path) -> ObjectRef:
        key = keys.of_run(run_id, "source")
        return await self.objects.put_file(keys.BUCKET, key, path, "application/octet-stream")


def _run(run_id: str, told: Imported, found: Found, now: datetime) -> Run:
    concluded = bool(found.conclusion)
    return Run(
        id=run_id,
        experiment_id="",
        task_id=told.task_id,
        agent_id=told.agent_id,
        model=told.model,
        repeat=told.repeat,
        attempt=1,
        pool="",
        limits=Allowance(),
        max_attempts=1,
        queued_at=now,
        state=RunState.CONCLUDED if concluded else RunState.ENDED,
        outcome=None if concluded else Outcome.AGENT_FAILED,
        reason="" if concluded else f"no conclusion: {found.why_none}"[:MAX_REASON],
        usage=found.usage,
        trajectory_chunks=found.chunks,
    )


def _parts(told: Imported) -> tuple[object, ...]:
    return told.task_id, told.agent, told.model, told.repeat, told.format


async def _spool(chunks: AsyncIterator[bytes], path: Path) -> str:
    """Write what comes to a file; gives its sha256. Raises INVALID, TOO_LARGE."""
    sha256, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        async for chunk in chunks:
            size += len(chunk)
            if len(chunk) > MAX_CHUNK:
                raise invalid(
                    "the file", [Fault("chunk", f"{len(chunk)} bytes", f"must be at most {MAX_CHUNK}")]
                )
            if size > MAX_FILE:
                told = Fault("file", f"more than {MAX_FILE} bytes", f"must be at most {MAX_FILE}")
                raise FiretrialError(Reason.TOO_LARGE, f"the file is too large: {told}", faults=[told])
            sha256.update(chunk)
            await asyncio.to_thread(file.write, chunk)
    return sha256.hexdigest()
