"""Releases that exist: the object first, then the record, so that a crash leaves either nothing or all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.resources import files

from firetrial_analyzer.cutoffs import DATA as CUTOFFS
from firetrial_analyzer.release import Frozen, Release, ReleasedTask, Wanted
from firetrial_analyzer.release_wire import release_to_json, released_task
from firetrial_analyzer.taxonomy.catalogue import LATEST
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.ids import sha256
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records

_PARALLEL = 16


class Releases:
    """Frozen benchmarks by name; none ever changes."""

    def __init__(self, records: Records[Release], objects: Objects, clock: Clock) -> None:
        self.records = records
        self._objects = objects
        self._clock = clock

    async def create(self, wanted: Wanted) -> Release:
        """Freeze; the same again gives what there is. Raises INVALID, or ALREADY_EXISTS for a name in use."""
        faults: list[Fault] = []
        frozen = Frozen(
            name=wanted.name,
            description=wanted.description,
            tasks=await self._tasks(wanted.task_ids, faults),
            repeats=wanted.repeats,
            judge=wanted.judge,
            judge_config_hash=wanted.judge_config_hash,
            calibration_id=wanted.calibration_id,
            prompts_sha256=wanted.prompts_sha256,
            prices_sha256=wanted.prices_sha256,
            taxonomy_version=LATEST,
            taxonomy_sha256=_packaged("taxonomy", f"taxonomy-{LATEST}.json"),
            cutoffs_sha256=_packaged(*CUTOFFS),
        )
        check("the release", [*frozen.faults(), *faults])
        return await self._keep(Release(frozen, self._clock.now()))

    async def _tasks(self, task_ids: Sequence[str], faults: list[Fault]) -> tuple[ReleasedTask, ...]:
        turn = asyncio.Semaphore(_PARALLEL)

        async def one(task_id: str) -> ReleasedTask | None:
            try:
                async with turn:
                    return released_task(await self._objects.get(f"runs/tasks/{task_id}/task.json"))
            except FiretrialError as error:
                if error.retryable:
                    raise
                faults.append(Fault("task_ids", task_id, "must be the id of a task that exists"))
                return None

        found = await asyncio.gather(*map(one, sorted(set(task_ids))))
        return tuple(task for task in found if task is not None)

    async def _keep(self, release: Release) -> Release:
        name = release.frozen.name
        known = await self.records.find(name)
        if known is None:
            await self._objects.put(
                "results", f"releases/{name}.json", release_to_json(release), "application/json"
            )
            if await self.records.create(name, release):
                return release
            known = await self.records.get(name)
        faults = list(known.frozen.differences(release.frozen))
        if faults:
            raise FiretrialError(
                Reason.ALREADY_EXISTS,
                f"there is another release {name!r}, and a release never changes: choose a new name",
                faults=faults,
            )
        return known


def _packaged(*path: str) -> str:
    """sha256 of a file of this package."""
    return sha256(files("firetrial_analyzer").joinpath(*path).read_bytes())
