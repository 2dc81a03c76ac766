"""One live stream over all stages of an experiment: what each service tells of it, as it is told."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from google.protobuf.message import DecodeError, Message

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial.analyzer.v1 import events_pb2 as analyzer_events
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.parser.v1 import events_pb2 as parser_events
from firetrial.runner.v1 import events_pb2 as runner_events
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.outcomes import F1
from firetrial_analyzer.record import ReportRecord
from firetrial_analyzer.wire import id_to_domain, report_to_wire
from firetrial_kit.bus import Bus, Received
from firetrial_kit.records import Records

ALL = "ft.evt.>"
_TYPES: dict[str, type[Message]] = {
    f"{events.DESCRIPTOR.package}.{name}": getattr(events, name)
    for events in (parser_events, runner_events, judge_events, analyzer_events)
    for name in events.DESCRIPTOR.message_types_by_name
}


class WatchingRpcs(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    """The part of firetrial.analyzer.v1.AnalyzerService that only looks."""

    _bus: Bus
    _records: Records[ReportRecord]

    async def WatchExperiment(
        self, request: pb.WatchExperimentRequest, context: Any
    ) -> AsyncIterator[pb.WatchExperimentResponse]:
        """First what is known by now, which may be nothing, then each fact."""
        experiment = id_to_domain("experiment_id", request.experiment_id)
        async with self._bus.follow(ALL) as told:
            known = _counted(pb.WatchExperimentResponse(), await self._records.find(experiment))
            yield known
            if known.complete:
                return
            async for message in told:
                event = _read(message)
                if event is None or experiment_of(event) != experiment:
                    continue
                answer = _counted(_told(message, event), await self._records.find(experiment))
                # The record is ahead of its own event; the last response is that event's.
                answer.complete &= isinstance(event, analyzer_events.ExperimentReported)
                yield answer
                if answer.complete:
                    return


def _read(message: Received) -> Message | None:
    """The event, or None for one that this version does not know."""
    kind = _TYPES.get(message.headers.get("ce-type", ""))
    try:
        return kind.FromString(message.data) if kind else None
    except DecodeError:
        return None


def experiment_of(event: Message) -> str:
    """The experiment that an event is about, wherever the event says it; "" for one about none."""
    fields = event.DESCRIPTOR.fields_by_name
    if "experiment_id" in fields:
        return str(getattr(event, "experiment_id"))  # noqa: B009 - not every event has it
    for name in ("slip", "run", "report"):
        if name in fields and event.HasField(name):
            return str(getattr(event, name).experiment_id)
    return ""


def _told(message: Received, event: Message) -> pb.WatchExperimentResponse:
    _, _, service, _, fact, *_ = message.subject.split(".")
    answer = pb.WatchExperimentResponse(
        service=service, fact=fact, key=message.headers.get("ce-subject", ""), detail=_detail(event)
    )
    answer.told_at.FromDatetime(_time(message.headers.get("ce-time", "")))
    return answer


def _detail(event: Message) -> str:
    """What a reader of one line wants to know beside the fact."""
    if isinstance(event, judge_events.RunJudged):
        if event.scores.measure not in {"", F1}:
            score = f"{event.scores.score:.2f}" if event.scores.HasField("score") else "unknown"
            return f"{event.scores.measure.replace('_', ' ')} {score}"
        return f"F1 {event.scores.f1:.2f}" if event.scores.HasField("f1") else "no F1"
    if isinstance(event, runner_events.RunFinished):
        outcome = event.run.outcome
        return run_pb2.Outcome.Name(outcome).removeprefix("OUTCOME_") if outcome else ""
    return str(getattr(event, "reason", "") or getattr(getattr(event, "report", None), "failure", ""))


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return datetime.now(UTC)


def _counted(answer: pb.WatchExperimentResponse, record: ReportRecord | None) -> pb.WatchExperimentResponse:
    """With how far the experiment is; nothing where none of its runs has ended."""
    if record is not None:
        report = report_to_wire(record)
        answer.ended_runs, answer.expected_runs = report.ended_runs, report.expected_runs
        answer.complete = report.complete or bool(report.failure)
    return answer
