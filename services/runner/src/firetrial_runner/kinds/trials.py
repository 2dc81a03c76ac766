"""Sealed tests: what a judge lays out is run in fresh sandboxes, once for each attempt, and told."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef, Objects, verified
from firetrial_kit.records import Records
from firetrial_runner import archive, keys, workspace
from firetrial_runner.allowance import Allowance
from firetrial_runner.gpus.gpus import Gpus
from firetrial_runner.kinds.proving import LostError, Place, Proof, Proved, Stage, prove
from firetrial_runner.kinds.sealed import TrialEnd, TrialRecord, Wanted
from firetrial_runner.metrics import SandboxMetrics
from firetrial_runner.needs import Needs
from firetrial_runner.pilots.stay import Stay
from firetrial_runner.run import MAX_REASON, End
from firetrial_runner.sandbox.port import Sandbox, SandboxError

_BUSY_S = 5.0


@dataclass(frozen=True, slots=True)
class Trials:
    """`holder` is this runner, whose grip on a test lasts `ttl_s` from each renewal.

    `count` is told the result of each test that ended here, and its seconds: None where it was not run.
    """

    sandbox: Sandbox
    metrics: SandboxMetrics
    records: Records[TrialRecord]
    objects: Objects
    needs: Needs
    clock: Clock
    work_dir: Path
    holder: str
    ttl_s: float
    default: Allowance
    stay: Stay
    count: Callable[[str, float | None], None]

    @property
    def gpus(self) -> Gpus:
        return self.needs.gpus

    async def carry_out(self, wanted: Wanted) -> TrialEnd:
        """What came of the test; run now, unless it has been. Infrastructure's failures are told, not raised.

        Raises UNAVAILABLE while another has it in hand, or while the GPUs that it needs are in use.
        """
        known = await self._claim(wanted.id)
        if known.tested is not None:
            return known.tested
        if not self.stay.lasts(wanted.limits.wall_s):
            raise await self._waits(wanted, "a runner that has the time")
        if not self.gpus.take(wanted.id, wanted.limits.gpus):
            raise await self._waits(wanted, f"{wanted.limits.gpus.told} to be free")
        begun = self.clock.monotonic()
        try:
            async with self._held(wanted.id):
                with self.stay.busy():
                    tested = await self._outcome(wanted)
        except (asyncio.CancelledError, FiretrialError):
            await asyncio.shield(self._release(wanted.id))
            raise
        finally:
            self.gpus.release(wanted.id)
        return await self._end(wanted.id, tested, self.clock.monotonic() - begun)

    async def give_up(self, wanted: Wanted, why: str) -> TrialEnd:
        """It will not be run: told as infrastructure's failure, unless something came of it before."""
        await self.records.create(wanted.id, TrialRecord(wanted.id))
        return await self._end(wanted.id, TrialEnd(infra_failure=why[:MAX_REASON]))

    async def _claim(self, id_: str) -> TrialRecord:
        now = self.clock.now()
        mine = TrialRecord(id_, self.holder, now + timedelta(seconds=self.ttl_s))

        def claim(record: TrialRecord) -> TrialRecord | None:
            if record.tested is not None or (record.until is not None and record.until > now):
                return None
            return mine

        if await self.records.create(id_, mine):
            return mine
        found = await self.records.change(id_, claim)
        if found.tested is None and found is not mine:
            left = (found.until - now).total_seconds() if found.until else 0.0
            raise _later(f"test {id_} is in other hands", max(0.5, left))
        return found

    async def _waits(self, wanted: Wanted, what: str) -> FiretrialError:
        await self._release(wanted.id, what)
        return _later(f"test {wanted.id} waits for {what}", _BUSY_S)

    async def _release(self, id_: str, waits_for: str = "") -> None:
        def release(record: TrialRecord) -> TrialRecord | None:
            mine = record.holder == self.holder and record.tested is None
            return replace(record, until=None, waits_for=waits_for) if mine else None

        await self.records.change(id_, release)

    async def _end(self, id_: str, tested: TrialEnd, seconds: float | None = None) -> TrialEnd:
        """The first end stands, whoever brings another."""

        now = self.clock.now()

        def end(record: TrialRecord) -> TrialRecord | None:
            return None if record.tested else replace(record, tested=tested, until=None, ended_at=now)

        found = (await self.records.change(id_, end)).tested
        assert found is not None  # noqa: S101 -- it is set by now
        if found is tested:
            self.count(tested.result, seconds)
        return found

    @asynccontextmanager
    async def _held(self, id_: str) -> AsyncIterator[None]:
        """The grip is renewed while inside."""
        keeper = asyncio.create_task(self._renew(id_))
        try:
            yield
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)

    async def _renew(self, id_: str) -> None:
        while True:
            await asyncio.sleep(self.ttl_s / 3)
            until = self.clock.now() + timedelta(seconds=self.ttl_s)

            def renew(record: TrialRecord, until: datetime = until) -> TrialRecord | None:
                mine = record.holder == self.holder and record.tested is None
                return replace(record, until=until) if mine else None

            # Where the state is away for a moment, the grip lasts until the next time.
            with suppress(FiretrialError):
                await self.records.change(id_, renew)

    async def _outcome(self, wanted: Wanted) -> TrialEnd:
        folder = self.work_dir / f"test-{digest(wanted.id, length=20)}.{self.holder}"
        try:
            proved = await self._prove(wanted, folder)
            return await self._stored(wanted, proved)
        except (LostError, SandboxError, OSError) as error:
            return TrialEnd(infra_failure=(str(error) or "the sandbox was lost")[:MAX_REASON])
        except FiretrialError as error:
            if error.retryable:
                raise
            return TrialEnd(infra_failure=error.message[:MAX_REASON])
        finally:
            await asyncio.shield(asyncio.to_thread(workspace.remove, folder))

    async def _prove(self, wanted: Wanted, folder: Path) -> Proved:
        if wanted.environment and self.needs.offered(wanted.environment) is None:
            told = f"this runner does not offer the environment {wanted.environment!r}"
            raise FiretrialError(Reason.PRECONDITION, told)
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        lies = self.needs.offered(wanted.environment)
        place = Place(
            self.sandbox,
            self.metrics,
            folder / "proving",
            self.holder,
            wanted.limits.limits(self.default),
            self.gpus.given(wanted.id),
            {str(lies): lies} if lies else {},
            self.needs.programs_first(wanted.environment),
        )
        score = None
        if wanted.score_files is not None:
            score = await self._stage(wanted.score_command, wanted.score_files, folder / "score.tar")
        first = await self._stage(wanted.command, wanted.files, folder / "files.tar")
        proof = Proof(first, wanted.results_file, score, wanted.outputs)
        return await prove(place, f"t-{digest(wanted.id, self.holder, length=20)}", proof)

    async def _stage(self, command: tuple[str, ...], ref: ObjectRef, tar: Path) -> Stage:
        found = hashlib.sha256()
        with tar.open("wb") as file:
            async for piece in self.objects.stream(ref.uri):
                found.update(piece)
                await asyncio.to_thread(file.write, piece)
        verified(ref.uri, b"", found.hexdigest(), ref.sha256)
        return Stage(command, lambda folder: archive.unpack(tar, folder, archive.DATA))

    async def _stored(self, wanted: Wanted, proved: Proved) -> TrialEnd:
        end = End(proved.end.termination, proved.end.code, proved.end.signal, proved.end.detail)
        results = None
        if proved.results is not None:
            results = await self._put(wanted, "results.json", proved.results, "application/json")
        output = await self._put(wanted, "output.txt", proved.output, "text/plain")
        return TrialEnd(end, results, output, proved.findings)

    async def _put(self, wanted: Wanted, name: str, data: bytes, media_type: str) -> ObjectRef:
        key = keys.of_run(wanted.run_id, f"test/{wanted.attempt}/{name}")
        return await self.objects.put(keys.BUCKET, key, data, media_type)


def _later(told: str, retry_after: float) -> FiretrialError:
    return FiretrialError(Reason.UNAVAILABLE, told, retry_after=retry_after)
