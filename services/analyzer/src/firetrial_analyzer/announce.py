"""The facts that the analyzer tells."""

from __future__ import annotations

from google.protobuf.message import Message

from firetrial.analyzer.v1 import events_pb2
from firetrial_analyzer.outcomes import RunOutcome
from firetrial_analyzer.record import ReportRecord
from firetrial_analyzer.wire import report_to_wire
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.events import fact


class Announcer:
    """Publishes, and waits until the broker has it."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock

    async def run_analyzed(self, run: RunOutcome) -> None:
        payload = events_pb2.RunAnalyzed(run_id=run.run_id, experiment_id=run.experiment)
        await self._tell_run(run, payload)

    async def run_analysis_failed(self, run: RunOutcome, why: str) -> None:
        payload = events_pb2.RunAnalysisFailed(run_id=run.run_id, experiment_id=run.experiment, reason=why)
        await self._tell_run(run, payload)

    async def experiment_reported(self, record: ReportRecord) -> None:
        """Once for each set of runs that a report covers, and once for a failure."""
        payload = events_pb2.ExperimentReported(report=report_to_wire(record))
        number = 0 if record.failure else record.renderings
        await self._bus.publish(
            fact(
                "analyzer", record.experiment_id, payload,
                clock=self._clock, attempt=number,
            )
        )  # fmt: skip

    async def _tell_run(self, run: RunOutcome, payload: Message) -> None:
        await self._bus.publish(fact("analyzer", run.run_id, payload, clock=self._clock, attempt=run.attempt))
