"""Repository tasks, their steps and their sealed tests: protobuf → domain."""

from __future__ import annotations

from google.protobuf.json_format import Parse, ParseError

from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import repository_pb2, task_pb2
from firetrial.runner.v1 import steps_pb2
from firetrial_analyzer.kinds.repository import (
    DEFAULT_STEPS,
    Metric,
    RecordedStep,
    RepositoryTask,
    Sealed,
)
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.improvement import Direction
from firetrial_kit.objects import ObjectRef
from firetrial_kit.references import ref_to_domain

_State = steps_pb2.RepositoryStep.State


def task_to_domain(data: bytes) -> tuple[RepositoryTask, ObjectRef | None] | None:
    """A repository task and where its pinned source lies; None for a task of another kind. Raises CORRUPT."""
    try:
        task = Parse(data, task_pb2.Task(), ignore_unknown_fields=True)
    except (ParseError, UnicodeDecodeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the task cannot be read: {error}") from error
    if not task.HasField("repository"):
        return None
    told = task.repository
    source = ref_to_domain(told.source) if told.HasField("source") else None
    return _repository(told), source


def _repository(told: repository_pb2.RepositorySpec) -> RepositoryTask:
    return RepositoryTask(
        metric=_metric(told.metric),
        targets=tuple(told.target_files),
        baseline_validation=told.baseline_validation if told.HasField("baseline_validation") else None,
        baseline_test=told.baseline_test if told.HasField("baseline_test") else None,
        assigned=told.max_steps or DEFAULT_STEPS,
        apart=told.split.file,
    )


def _metric(told: repository_pb2.Metric) -> Metric:
    lower = told.direction == repository_pb2.Metric.DIRECTION_LOWER
    return Metric(
        key=told.key,
        direction=Direction.LOWER if lower else Direction.HIGHER,
        best=told.best,
        worst=told.worst if told.HasField("worst") else "baseline",
        logarithmic=told.transform == repository_pb2.Metric.TRANSFORM_NEGATIVE_LOG10,
    )


def steps_to_domain(data: bytes) -> list[RecordedStep]:
    """The steps of a run from their JSON lines. Raises CORRUPT."""
    try:
        return [
            _step(Parse(line, steps_pb2.RepositoryStep(), ignore_unknown_fields=True))
            for line in data.splitlines()
            if line.strip()
        ]
    except (ParseError, UnicodeDecodeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the steps of the run cannot be read: {error}") from error


def _step(told: steps_pb2.RepositoryStep) -> RecordedStep:
    valid = told.state == _State.STATE_VALID and told.HasField("metric")
    return RecordedStep(
        number=told.step,
        void=told.state == _State.STATE_VOID,
        metric=told.metric if valid else None,
        files=dict(told.files),
        tokens=told.tokens if told.HasField("tokens") else None,
        seconds=told.took.ToNanoseconds() / 1e9 if told.HasField("took") else None,
    )


def sealed_to_domain(told: judgement_pb2.SealedResult) -> Sealed:
    def figure(name: str) -> float | None:
        return getattr(told, name) if told.HasField(name) else None  # type: ignore[arg-type]  # one of its names

    return Sealed(
        step=told.step,
        validation=figure("validation"),
        test=figure("test"),
        validation_improvement=figure("validation_improvement"),
        test_improvement=figure("test_improvement"),
        no_credit=told.no_credit,
        findings=tuple(told.findings),
    )
