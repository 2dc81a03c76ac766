"""Judging a repository run: its best validated step is laid out with the sealed test, run, and measured.

    run_finished → tars in the bucket `sealed`, work in ft.work.test.<pool> → test_finished → judgement

What lies in `sealed` is there as long as the test takes. Infrastructure's failure is tried again, and ends as
JUDGE_FAILED, as does a test that nobody has made in time; the agent's own, a test that breaks or tells
nothing, is held at the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from google.protobuf.message import Message

from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.parser.v1 import repository_pb2, task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_judge.archive import Archive, check_left
from firetrial_judge.judging import SERVICE, Judging
from firetrial_judge.kinds.improving import Step, best, result
from firetrial_judge.kinds.laying_out_wire import LayingOut, laid_out
from firetrial_judge.kinds.lent import BUCKET
from firetrial_judge.kinds.repository_wire import (
    VERSION,
    judgement_of,
    scale_to_domain,
    steps_to_domain,
    tested_to_domain,
)
from firetrial_kit import events, tenants
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_kit.records import Records
from firetrial_kit.references import ref_to_wire

MAX_ATTEMPTS = 3
_TEST_S = 600
_WAIT_S = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class SealedRun:
    """A run whose test was asked for; its run and slip as they came, in hex. `over`: nothing is to follow.

    `asked_at` is when the attempt was asked for; None in a record of a version that did not tell.
    """

    run_id: str
    judgement_id: str
    run: str
    slip: str
    files: ObjectRef
    score_files: ObjectRef | None
    attempt: int = 1
    over: bool = False
    asked_at: datetime | None = None

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        return (self.files, *((self.score_files,) if self.score_files else ()))


@dataclass(frozen=True, slots=True)
class Sealing:
    """`pool` takes the tests; "" is the pool of each run. Each attempt has `wait_s` seconds from when it was
    asked for until it is over.
    """

    archive: Archive
    objects: Objects
    judging: Judging
    records: Records[SealedRun]
    bus: Bus
    clock: Clock
    pool: str = ""
    wait_s: float = _WAIT_S
    # Runs of which nothing is to follow: what is over stays so.
    _over: set[str] = field(default_factory=set)

    async def begin(self, run: run_pb2.Run, slip: plan_pb2.Slip, task: task_pb2.Task) -> None:
        """Ask for the test of a run, or judge it at once where it has nothing to be tested.

        Done before, it is asked for or announced again. Raises PRECONDITION for a task that has no test.
        """
        scale = scale_to_domain(task.repository)
        steps = await self._steps(run)
        chosen = best(steps, scale)
        test = await self._test(task)
        told = digest(VERSION, run.id, chosen.files if chosen else None, _parts(test), length=20)
        id_ = tenants.beside(run.id, f"j-{told}")
        known = await self.records.find(run.id)
        kept = await self.archive.find(id_)
        if kept is not None:
            await self.judging.keep(run, slip, kept[0])
            await self._forget(known)
        elif chosen is None:
            made = judgement_of(run, id_, result(scale, steps, None), self.clock.now())
            await self.judging.keep(run, slip, made)
        else:
            if known is None:
                laying = LayingOut(self.archive, self.objects)
                targets = await laying.targets(run.id, task.repository, chosen.files)
                refs = await laying.put(run.id, task.repository, test, targets)
                made_of = SealedRun(run.id, id_, _hex(run), _hex(slip), *refs, asked_at=self.clock.now())
                known = await self._record(made_of)
            if known.over:  # perhaps by another process, that was faster: what it removed was put there again
                await self._forget(known)
            else:
                await self._ask(known, run, task.repository, test)

    async def tested(self, told: events_pb2.TestFinished) -> None:
        """A test is over: judge the run by it, or ask for another where infrastructure failed it."""
        known = await self.records.find(told.run_id)
        if known is None or known.over:
            return
        run, slip = _parsed(known)
        task = await self.archive.task(run.task_id)
        if told.infra_failure:
            await self._again(known, told, run, task)
            return
        if told.attempt != known.attempt:
            return
        scale = scale_to_domain(task.repository)
        results = None
        if told.HasField("results"):
            check_left(told.results.uri)
            results = await self.objects.get(told.results.uri, sha256=told.results.sha256)
        apart = bool((await self._test(task)).score_command)
        tested = tested_to_domain(told, results, scale, apart=apart)
        found = result(scale, await self._steps(run), tested)
        await self.judging.keep(run, slip, judgement_of(run, known.judgement_id, found, self.clock.now()))
        await self._forget(known)

    async def give_up(self, run_id: str, why: str) -> None:
        """A run whose test was asked for will not be judged; nothing where none was."""
        known = await self.records.find(run_id)
        if known is not None and not known.over:
            run, slip = _parsed(known)
            await self.judging.fail(run, slip, why)
            await self._forget(known)

    async def forget(self, run_id: str) -> None:
        """The run will not be judged: what was laid out for it is removed, and what comes later is late."""
        for key in laid_out(run_id):
            await self.objects.delete(f"{BUCKET}/{key}")
        await self._forget(await self.records.find(run_id))

    async def expire(self) -> None:
        """Give up the tests that were not made in time. Raises what the state and the bus raise."""
        for run_id in await self.records.ids():
            known = None if run_id in self._over else await self.records.find(run_id)
            if known is None or known.over:
                self._over.add(run_id)
            elif known.asked_at is None:
                await self.records.change(run_id, self._asked)
            elif self.clock.now() - known.asked_at > timedelta(seconds=self.wait_s):
                pool, hours = self._pool(_parsed(known)[0]), self.wait_s / 3600
                await self.give_up(
                    run_id, f"no runner of pool {pool} made its sealed test in {hours:g} hours"
                )

    async def _again(
        self, known: SealedRun, told: events_pb2.TestFinished, run: run_pb2.Run, task: task_pb2.Task
    ) -> None:
        """Ask for the attempt after the lost one: again where that was noted and perhaps never told."""
        if told.attempt == known.attempt >= MAX_ATTEMPTS:
            why = f"its test was lost {known.attempt} times, at last: {told.infra_failure}"
            await self.give_up(known.run_id, why)
            return

        def change(record: SealedRun) -> SealedRun | None:
            mine = record.attempt == told.attempt
            return self._asked(replace(record, attempt=record.attempt + 1)) if mine else None

        known = await self.records.change(known.run_id, change)
        if known.attempt == told.attempt + 1:
            await self._ask(known, run, task.repository, await self._test(task))

    async def _record(self, record: SealedRun) -> SealedRun:
        """The record as it is kept: another process may have been faster with the same."""
        await self.records.create(record.run_id, record)
        return await self.records.get(record.run_id)

    async def _steps(self, run: run_pb2.Run) -> list[Step]:
        return steps_to_domain(await self.archive.steps(run.id))

    async def _test(self, task: task_pb2.Task) -> repository_pb2.SealedTest:
        secret = await self.archive.secret(task)
        if not secret.HasField("test"):
            raise FiretrialError(Reason.PRECONDITION, f"task {task.id} has no sealed test to be judged by")
        return secret.test

    async def _ask(
        self,
        known: SealedRun,
        run: run_pb2.Run,
        spec: repository_pb2.RepositorySpec,
        test: repository_pb2.SealedTest,
    ) -> None:
        wanted = events_pb2.TestRequested(
            run_id=run.id,
            files=ref_to_wire(known.files),
            command=test.command,
            results_file=test.results_file,
            limits=_limits(run, spec, test),
            environment=spec.environment,
            attempt=known.attempt,
            score_command=test.score_command,
            score_files=ref_to_wire(known.score_files) if known.score_files else None,
            outputs=test.outputs,
        )
        pool, attempt = self._pool(run), known.attempt
        await self.bus.publish(events.work(SERVICE, pool, run.id, wanted, clock=self.clock, attempt=attempt))
        told = judge_events.SealedTestRequested(
            run_id=run.id, pool=pool, attempt=attempt, experiment_id=run.experiment_id
        )
        await self.bus.publish(events.fact(SERVICE, run.id, told, clock=self.clock, attempt=attempt))

    def _pool(self, run: run_pb2.Run) -> str:
        return self.pool or run.pool or "default"

    def _asked(self, record: SealedRun) -> SealedRun:
        return replace(record, asked_at=self.clock.now())

    async def _forget(self, known: SealedRun | None) -> None:
        """Remove what was laid out; the record stays, so that what comes late is known to be late."""
        if known is None:
            return
        for ref in known.refs:
            await self.objects.delete(ref.uri)
        await self.records.change(known.run_id, lambda record: replace(record, over=True))


def _limits(
    run: run_pb2.Run, spec: repository_pb2.RepositorySpec, test: repository_pb2.SealedTest
) -> plan_pb2.Limits:
    """The run's, but for the time."""
    limits = plan_pb2.Limits()
    limits.CopyFrom(run.limits)
    time = test.time if test.HasField("time") else spec.step_time
    limits.wall_time.FromSeconds(_TEST_S)
    if time.ToNanoseconds() > 0:
        limits.wall_time.CopyFrom(time)
    return limits


def _parts(test: repository_pb2.SealedTest) -> list[object]:
    """What makes one test another."""
    commands = [list(test.command), list(test.score_command), list(test.outputs), test.results_file]
    return [test.files.sha256, test.score_files.sha256, *commands]


def _hex(message: Message) -> str:
    return message.SerializeToString(deterministic=True).hex()


def _parsed(known: SealedRun) -> tuple[run_pb2.Run, plan_pb2.Slip]:
    run = run_pb2.Run.FromString(bytes.fromhex(known.run))
    return run, plan_pb2.Slip.FromString(bytes.fromhex(known.slip))
