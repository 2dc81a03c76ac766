"""Sealed tests: the consumer, and protobuf ↔ domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import structlog

from firetrial.runner.v1 import events_pb2
from firetrial_kit import events
from firetrial_kit.bus import Bus, Consumer, Received
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, check
from firetrial_kit.references import ref_to_domain, ref_to_wire
from firetrial_runner import pools
from firetrial_runner.allowance import MOST
from firetrial_runner.announce import SERVICE
from firetrial_runner.archive import is_plain
from firetrial_runner.dispatch import Dispatch
from firetrial_runner.execution import Execution
from firetrial_runner.experiment import is_id
from firetrial_runner.kinds.repository_wire import exit_to_wire
from firetrial_runner.kinds.sealed import TrialEnd, Wanted
from firetrial_runner.kinds.trials import Trials
from firetrial_runner.wire import limits_to_domain

_COMES = 4
"""Deliveries of one message for a test that waits."""


class SealedTests:
    """One consumer, of the work that judges ask a pool for."""

    def __init__(
        self, trials: Trials, bus: Bus, clock: Clock, log: structlog.typing.FilteringBoundLogger
    ) -> None:
        self._trials, self._bus, self._clock, self._log = trials, bus, clock, log

    def consumers(self, pool: str, at_once: int) -> list[Consumer]:
        """The durable consumer; none where this runner tests nothing."""
        name, work = pools.of_tests(pool)
        found = Consumer(name, events.WORK, (work,), self.test, self.not_tested, concurrency=max(1, at_once))
        return [found] if at_once else []

    async def test(self, message: Received) -> None:
        """Carry the test out, and tell what came of it."""
        event = message.parse(events_pb2.TestRequested)
        check("the test", _faults(event))
        try:
            tested = await self._trials.carry_out(_to_domain(event))
        except FiretrialError as error:
            # Waiting is no failure, however often the message comes.
            if error.retry_after is None or message.delivered < _COMES:
                raise
            await self._again(event, message.subject.rpartition(".")[2])
            return
        await self._tell(event, tested)

    async def not_tested(self, message: Received, error: FiretrialError) -> None:
        """The test is over by infrastructure's failure."""
        event = message.parsed(events_pb2.TestRequested)
        if event is None or not is_id(event.run_id) or event.attempt < 1:
            self._log.error("message dropped", subject=message.subject, error=error.message)
            return
        await self._tell(event, await self._trials.give_up(_to_domain(event), error.message))

    async def _tell(self, event: events_pb2.TestRequested, tested: TrialEnd) -> None:
        told = _to_wire(event, tested)
        await self._bus.publish(
            events.fact(SERVICE, event.run_id, told, clock=self._clock, attempt=event.attempt)
        )

    async def _again(self, event: events_pb2.TestRequested, pool: str) -> None:
        work = events.work("judge", pool, event.run_id, event, clock=self._clock, attempt=event.attempt)
        now = self._clock.now().isoformat()
        await self._bus.publish(replace(work, message_id=f"{work.message_id}:{now}"))


def sealed_tests(execution: Execution, dispatch: Dispatch, bus: Bus) -> SealedTests:
    """Those of a runner, by what its runs are made with."""
    trials = Trials(
        execution.sandbox,
        execution.metrics.sandbox,
        dispatch.books.tests,
        execution.objects,
        execution.needs,
        execution.clock,
        execution.work_dir,
        execution.lease,
        dispatch.ttl_s,
        execution.default,
        dispatch.stay,
        execution.metrics.kinds.tested,
    )
    return SealedTests(trials, bus, execution.clock, dispatch.log)


def _to_domain(event: events_pb2.TestRequested) -> Wanted:
    return Wanted(
        run_id=event.run_id,
        attempt=event.attempt,
        files=ref_to_domain(event.files),
        command=tuple(event.command),
        results_file=event.results_file,
        limits=limits_to_domain(event.limits),
        environment=event.environment,
        score_command=tuple(event.score_command),
        score_files=ref_to_domain(event.score_files) if event.HasField("score_files") else None,
        outputs=tuple(event.outputs),
    )


def _to_wire(event: events_pb2.TestRequested, tested: TrialEnd) -> events_pb2.TestFinished:
    return events_pb2.TestFinished(
        run_id=event.run_id,
        attempt=event.attempt,
        exit=exit_to_wire(tested.end) if tested.end else None,
        results=ref_to_wire(tested.results) if tested.results else None,
        output=ref_to_wire(tested.output) if tested.output else None,
        infra_failure=tested.infra_failure,
        findings=tested.findings,
    )


def _faults(event: events_pb2.TestRequested) -> Iterator[Fault]:
    if not is_id(event.run_id):
        yield Fault("run_id", event.run_id, "must be letters, digits, _ and -, at most 128")
    if not 1 <= event.attempt <= 100:
        yield Fault("attempt", str(event.attempt), "must be 1 to 100")
    if not event.command:
        yield Fault("command", "", "must be a program and its arguments")
    if bool(event.score_command) != event.HasField("score_files"):
        yield Fault("score_files", event.score_files.uri, "go with a score_command")
    for path in (event.results_file, *event.outputs):
        if not path or path.startswith("/") or not is_plain(path):
            yield Fault("results_file, outputs", path, "must be a path below the folder, without '..'")
    for name, ref in (("files", event.files), ("score_files", event.score_files)):
        if ref.uri and not ref.uri.startswith("sealed/"):
            yield Fault(name, ref.uri, "must lie in the bucket sealed")
    yield from limits_to_domain(event.limits).faults(MOST, "limits")
