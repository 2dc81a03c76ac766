"""Where the analyzer's inputs lie and where its results go, by key."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import IO

from pydantic import TypeAdapter, ValidationError

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.claims import Judgement
from firetrial_analyzer.kinds.briefing_wire import UNKNOWN, Briefing, briefing_to_domain
from firetrial_analyzer.render import MEDIA_TYPES, Format
from firetrial_analyzer.report import Task
from firetrial_analyzer.taxonomy.steps import Step
from firetrial_analyzer.trajectory import Keeper, Trajectory
from firetrial_analyzer.wire import judgement_to_domain, task_to_domain
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.objects import ObjectRef, Objects, too_large

# Formats that are kept; the others are made when they are asked for.
KEPT = (Format.HTML, Format.MARKDOWN, Format.JSON)
_ANALYSES = "analyses/"
# Objects read at the same time.
_PARALLEL = 16
# The runner seals a chunk of a trajectory at 1 MiB.
_MAX_CHUNK = 4 * 1024 * 1024
_MAX_CONCLUSION = 1024 * 1024
_MAX_ARTIFACTS = 512 * 1024 * 1024


class Archive:
    """Analyses and reports in the results bucket; tasks in the runs bucket, judgements by reference."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._analysis = TypeAdapter(AnalysedRun)

    async def put_analysis(self, item: AnalysedRun) -> None:
        """In the place of an analysis of an earlier judgement; one of a later judgement stays."""
        known = await self.find_analysis(item.run.run_id)
        if known is not None and known.later_than(item):
            return
        data = self._analysis.dump_json(item)
        await self._objects.put("results", _analysis_key(item.run.run_id), data, "application/json")

    async def analysis(self, run_id: str) -> AnalysedRun:
        """Raises NOT_FOUND for a run that has not ended, or is none."""
        try:
            data = await self._objects.get(f"results/{_analysis_key(run_id)}")
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            raise FiretrialError(
                Reason.NOT_FOUND,
                f"there is no analysis of run {run_id!r}: it has not ended, or there is no such run",
                faults=[Fault("run_id", run_id, "must be the id of a run that has ended")],
            ) from error
        return self._analysis.validate_json(data)

    async def find_analysis(self, run_id: str) -> AnalysedRun | None:
        """None for a run that has not been analysed, or was by an older version."""
        try:
            return await self.analysis(run_id)
        except ValidationError:
            return None
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            return None

    async def analyses(self, run_ids: Iterable[str]) -> list[AnalysedRun]:
        """In the order asked for."""
        turn = asyncio.Semaphore(_PARALLEL)

        async def one(run_id: str) -> AnalysedRun:
            async with turn:
                return await self.analysis(run_id)

        return list(await asyncio.gather(*map(one, run_ids)))

    async def run_ids(self) -> list[str]:
        """All runs that have an analysis, sorted."""
        keys = await self._objects.keys("results", _ANALYSES)
        return [key.removeprefix(_ANALYSES).removesuffix(".json") for key in keys]

    async def task(self, task_id: str) -> Task:
        """The public part of a task; the id alone where it cannot be read, for a report can do without it."""
        try:
            return task_to_domain(await self._objects.get(f"runs/tasks/{task_id}/task.json"))
        except FiretrialError as error:
            if error.retryable:
                raise
            return Task(task_id)

    async def briefing(self, task_id: str) -> Briefing:
        """What the agent was told; UNKNOWN where the task cannot be read."""
        try:
            return briefing_to_domain(await self._objects.get(f"runs/tasks/{task_id}/task.json"))
        except FiretrialError as error:
            if error.retryable:
                raise
            return UNKNOWN

    async def conclusion(self, ref: ObjectRef) -> str:
        """What the agent concluded; empty where it cannot be read."""
        try:
            data = await self._objects.get(ref.uri, sha256=ref.sha256, max_size=_MAX_CONCLUSION)
        except FiretrialError as error:
            if error.retryable:
                raise
            return ""
        return data.decode("utf-8", "replace")

    async def trajectory(self, run_id: str, seen: Callable[[Step], None] = lambda _: None) -> Trajectory:
        """The steps of a run; one chunk and what is kept of the others are in memory, but `seen` gets all.

        It is called in another thread.
        """
        keeper = Keeper(seen=seen)
        # Their names are the numbers of their first steps, with leading zeros.
        for key in await self._objects.keys("runs", f"runs/{run_id}/trajectory/"):
            try:
                data = await self._objects.get(f"runs/{key}", max_size=_MAX_CHUNK)
            except FiretrialError as error:
                if error.retryable:
                    raise
                keeper.lost(key, error.reason)
            else:
                await asyncio.to_thread(keeper.feed, key, data)
        return keeper.close()

    async def chunks(self, run_id: str) -> list[str]:
        """Where the chunks of a run's trajectory lie, for `chunk`."""
        return [f"runs/{key}" for key in await self._objects.keys("runs", f"runs/{run_id}/trajectory/")]

    async def chunk(self, uri: str) -> bytes:
        return await self._objects.get(uri, max_size=_MAX_CHUNK)

    @asynccontextmanager
    async def artifacts(self, ref: ObjectRef) -> AsyncIterator[IO[bytes]]:
        """The files that a run left, as a tar on disk. Raises TOO_LARGE, and what the store raises."""
        if ref.size > _MAX_ARTIFACTS:
            raise too_large(ref.uri, ref.size, _MAX_ARTIFACTS)
        with tempfile.TemporaryFile() as file:
            async for piece in self._objects.stream(ref.uri):
                if file.tell() + len(piece) > _MAX_ARTIFACTS:
                    raise too_large(ref.uri, file.tell() + len(piece), _MAX_ARTIFACTS)
                await asyncio.to_thread(file.write, piece)
            yield file

    async def judgement(self, run_id: str, uri: str, sha256: str) -> tuple[Judge, Judgement]:
        """Raises NOT_FOUND, INVALID or CORRUPT for a reference that holds no judgement of the run."""
        judge, judgement = judgement_to_domain(await self._objects.get(uri, sha256=sha256))
        if judgement.run_id != run_id:
            raise FiretrialError(
                Reason.CORRUPT, f"object {uri!r} judges run {judgement.run_id!r} and not {run_id!r}"
            )
        return judge, judgement

    async def put_report(self, experiment_id: str, formats: Mapping[Format, bytes]) -> dict[str, ObjectRef]:
        """Stores each format; their references by the format's name."""
        return {
            form.value: await self._objects.put(
                "results", f"reports/{experiment_id}/report.{form.value}", data, MEDIA_TYPES[form]
            )
            for form, data in formats.items()
        }

    async def stored(self, ref: ObjectRef) -> bytes | None:
        """The bytes of a stored format, or None where they are gone or not those that were stored."""
        try:
            return await self._objects.get(ref.uri, sha256=ref.sha256, max_size=ref.size)
        except FiretrialError as error:
            if error.reason in (Reason.NOT_FOUND, Reason.TOO_LARGE, Reason.CORRUPT):
                return None
            raise


def _analysis_key(run_id: str) -> str:
    return f"{_ANALYSES}{run_id}.json"
