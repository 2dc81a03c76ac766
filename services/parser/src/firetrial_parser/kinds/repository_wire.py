"""Repository tasks: protobuf ↔ domain, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from google.protobuf.duration_pb2 import Duration

from firetrial.parser.v1 import parser_service_pb2, repository_pb2
from firetrial_kit.errors import Fault
from firetrial_kit.improvement import Direction
from firetrial_kit.objects import ObjectRef
from firetrial_kit.references import ref_to_wire
from firetrial_parser.kinds.repository import (
    Measuring,
    Metric,
    Repository,
    SealedTest,
    Setting,
    Split,
    Transform,
)

T = TypeVar("T")
N = TypeVar("N", bound=int)
_Metric = repository_pb2.Metric
_DIRECTIONS = {_Metric.DIRECTION_HIGHER: Direction.HIGHER, _Metric.DIRECTION_LOWER: Direction.LOWER}
_TRANSFORMS = {
    _Metric.TRANSFORM_UNSPECIFIED: Transform.NONE,
    _Metric.TRANSFORM_NEGATIVE_LOG10: Transform.NEGATIVE_LOG10,
}


def repository_to_domain(header: parser_service_pb2.TaskHeader) -> Repository | None:
    """The repository of a submitted task; None for one without."""
    if not header.HasField("repository"):
        return None
    told = header.repository
    return Repository(
        origin=told.origin,
        commit=told.commit,
        targets=tuple(told.target_files),
        protected=tuple(told.protected_files),
        validation=_measuring(told.validation_command, told, told.step_time),
        metric=_metric(told.metric),
        baseline_validation=told.baseline_validation if told.HasField("baseline_validation") else None,
        baseline_test=told.baseline_test if told.HasField("baseline_test") else None,
        split=_split(told.split) if told.HasField("split") else None,
        max_steps=told.max_steps,
        environment=told.environment,
        recipe=told.recipe,
        test=_test(header.test) if header.HasField("test") else None,
    )


def reference_faults(header: parser_service_pb2.TaskHeader) -> Iterator[Fault]:
    """Whoever submits a task cannot say where its parts lie, and a test goes with a repository."""
    if header.HasField("test") and not header.HasField("repository"):
        yield Fault("header.test", "set", "goes with a repository")
    refs = (
        ("repository.source", header.repository.HasField("source")),
        ("test.files", header.test.HasField("files")),
        ("test.score_files", header.test.HasField("score_files")),
    )
    for name, there in refs:
        if there:
            yield Fault(f"header.{name}", "set", "must be unset: it is made of the files that are uploaded")


def repository_to_wire(told: Repository, source: ObjectRef | None) -> repository_pb2.RepositorySpec:
    """The public part, as runners and agents' reports see it."""
    return repository_pb2.RepositorySpec(
        source=ref_to_wire(source) if source else None,
        origin=told.origin,
        commit=told.commit,
        target_files=told.targets,
        protected_files=told.protected,
        validation_command=told.validation.command,
        metric=_metric_to_wire(told.metric),
        baseline_validation=told.baseline_validation,
        baseline_test=told.baseline_test,
        split=_split_to_wire(told.split) if told.split else None,
        max_steps=told.max_steps,
        environment=told.environment,
        recipe=told.recipe,
        has_test=told.test is not None,
        score_command=told.validation.score_command,
        outputs=told.validation.outputs,
        step_time=_duration(told.validation.seconds),
    )


def sealed_to_wire(
    test: SealedTest, files: ObjectRef | None, score_files: ObjectRef | None
) -> repository_pb2.SealedTest:
    """The secret part."""
    return repository_pb2.SealedTest(
        files=ref_to_wire(files) if files else None,
        command=test.measuring.command,
        results_file=test.results_file,
        time=_duration(test.measuring.seconds),
        score_command=test.measuring.score_command,
        outputs=test.measuring.outputs,
        score_files=ref_to_wire(score_files) if score_files else None,
    )


def _measuring(
    command: object, told: repository_pb2.RepositorySpec | repository_pb2.SealedTest, time: Duration
) -> Measuring:
    return Measuring(
        tuple(command),  # type: ignore[arg-type]  # a repeated field, which the stubs name by a private class
        tuple(told.score_command),
        tuple(told.outputs),
        time.ToNanoseconds() / 1e9,
    )


def _test(told: repository_pb2.SealedTest) -> SealedTest:
    return SealedTest(_measuring(told.command, told, told.time), told.results_file)


def _metric(told: repository_pb2.Metric) -> Metric:
    return Metric(
        key=told.key,
        datasets=tuple(told.datasets),
        direction=_DIRECTIONS.get(told.direction),
        best=told.best,
        worst=told.worst if told.HasField("worst") else None,
        transform=_TRANSFORMS.get(told.transform),
        results_file=told.results_file,
    )


def _metric_to_wire(told: Metric) -> repository_pb2.Metric:
    return repository_pb2.Metric(
        key=told.key,
        datasets=told.datasets,
        direction=_number(_DIRECTIONS, told.direction),
        best=told.best,
        worst=told.worst,
        transform=_number(_TRANSFORMS, told.transform),
        results_file=told.results_file,
    )


def _number(names: Mapping[N, T], name: T | None) -> N:
    return next(number for number, known in names.items() if known == name)


def _split(told: repository_pb2.SplitSettings) -> Split:
    return Split(told.file, tuple(Setting(f.name, f.default, f.least, f.most, f.whole) for f in told.fields))


def _split_to_wire(told: Split) -> repository_pb2.SplitSettings:
    fields = [
        repository_pb2.SplitField(name=s.name, default=s.default, least=s.least, most=s.most, whole=s.whole)
        for s in told.settings
    ]
    return repository_pb2.SplitSettings(file=told.file, fields=fields)


def _duration(seconds: float) -> Duration | None:
    """None for 0, which is the runner's own."""
    if not seconds:
        return None
    duration = Duration()
    duration.FromNanoseconds(round(seconds * 1e9))
    return duration
