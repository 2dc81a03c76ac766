"""Repository tasks and their steps: protobuf ↔ domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToJson

from firetrial.parser.v1 import repository_pb2
from firetrial.runner.v1 import run_pb2, steps_pb2
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.references import ref_to_domain
from firetrial_runner.archive import is_plain
from firetrial_runner.kinds.repository import MAX_STEPS, Field, Metric, Repository, Split
from firetrial_runner.kinds.steps import Made, State
from firetrial_runner.run import End
from firetrial_runner.sandbox.port import Exit

_DEFAULT_STEPS = 100
_DEFAULT_S = 600.0
_STATES = {state: getattr(steps_pb2.RepositoryStep, f"STATE_{state.name}") for state in State}


def repository_to_domain(told: repository_pb2.RepositorySpec) -> Repository:
    """What a task says of its repository. Raises CORRUPT with what cannot be run."""
    if faults := list(_faults(told)):
        wrong = "; ".join(map(str, faults))
        raise FiretrialError(Reason.CORRUPT, f"the task's repository cannot be run: {wrong}", faults=faults)
    return Repository(
        source=ref_to_domain(told.source) if told.source.uri else None,
        targets=tuple(told.target_files),
        protected=tuple(told.protected_files),
        command=tuple(told.validation_command),
        metric=Metric(told.metric.key, tuple(told.metric.datasets), told.metric.results_file),
        max_steps=min(told.max_steps or _DEFAULT_STEPS, MAX_STEPS),
        step_s=told.step_time.ToNanoseconds() / 1e9 if told.HasField("step_time") else _DEFAULT_S,
        split=_split_to_domain(told.split) if told.HasField("split") else None,
        score_command=tuple(told.score_command),
        outputs=tuple(told.outputs),
        environment=told.environment,
    )


def _split_to_domain(told: repository_pb2.SplitSettings) -> Split:
    return Split(told.file, tuple(Field(f.name, f.least, f.most, f.whole) for f in told.fields))


def _faults(told: repository_pb2.RepositorySpec) -> Iterator[Fault]:
    if not told.target_files:
        yield Fault("repository.target_files", "", "must name at least one file")
    if not told.validation_command:
        yield Fault("repository.validation_command", "", "must be a program and its arguments")
    if not told.metric.key:
        yield Fault("repository.metric.key", "", "must name the metric in the results file")
    paths = [*told.target_files, *told.protected_files, *told.outputs, told.metric.results_file]
    for path in paths:
        if not path or path.startswith("/") or not is_plain(path):
            yield Fault("repository", path, "must be a path below the source, without '..'")
    if bool(told.score_command) != bool(told.outputs):
        yield Fault("repository.outputs", ", ".join(told.outputs), "goes with a score_command")


def steps_to_lines(steps: Iterable[Made]) -> bytes:
    """All steps as JSON lines."""
    return b"".join(_line(made) for made in steps)


def _line(made: Made) -> bytes:
    told = step_to_wire(made)
    line = MessageToJson(told, preserving_proto_field_name=True, indent=None, ensure_ascii=False)
    return line.encode() + b"\n"


def step_to_wire(made: Made) -> steps_pb2.RepositoryStep:
    return steps_pb2.RepositoryStep(
        step=made.number,
        idea=made.idea,
        state=_STATES[made.state],
        metric=made.metric,
        metrics=made.metrics,
        files=made.files,
        exit=exit_to_wire(made.end) if made.end else None,
        offset=_duration(made.offset_s),
        took=_duration(made.took_s),
        tokens=made.tokens,
        reason=made.reason,
        findings=made.findings,
        lost=made.lost,
        added=made.added,
        removed=made.removed,
    )


def exit_to_wire(end: Exit | End) -> run_pb2.Exit:
    """How a command ended."""
    told = run_pb2.Exit(termination=getattr(run_pb2, f"TERMINATION_{end.termination.name}"))
    if end.code is not None:
        told.code = end.code
    if end.signal is not None:
        told.signal = end.signal
    return told


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(round(seconds * 1e9))
    return duration
