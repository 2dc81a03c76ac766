"""Repository tasks, steps and sealed results: protobuf ↔ domain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from google.protobuf.json_format import Parse, ParseError

from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import repository_pb2
from firetrial.runner.v1 import events_pb2, run_pb2, steps_pb2
from firetrial_judge.kinds.improving import MEASURE, Result, Scale, Step, TrialEnd
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.improvement import Direction

VERSION = "sealed-1"
"""Of the rules by which a test becomes a score: another version judges anew."""
_DIRECTIONS = {
    repository_pb2.Metric.DIRECTION_HIGHER: Direction.HIGHER,
    repository_pb2.Metric.DIRECTION_LOWER: Direction.LOWER,
}
_TERMINATIONS = {
    number: name.removeprefix("TERMINATION_").lower().replace("_", " ")
    for name, number in run_pb2.Termination.items()
}


def scale_to_domain(spec: repository_pb2.RepositorySpec) -> Scale:
    """What a task's metric is held against. Raises PRECONDITION where that says nothing."""
    metric = spec.metric
    scale = Scale(
        key=metric.key,
        datasets=tuple(metric.datasets),
        direction=_DIRECTIONS.get(metric.direction, Direction.HIGHER),
        best=metric.best,
        worst=metric.worst if metric.HasField("worst") else "baseline",
        baseline_validation=spec.baseline_validation if spec.HasField("baseline_validation") else None,
        baseline_test=spec.baseline_test if spec.HasField("baseline_test") else None,
        negative_log10=metric.transform == repository_pb2.Metric.TRANSFORM_NEGATIVE_LOG10,
    )
    if metric.direction not in _DIRECTIONS:
        raise _unfit("it does not say whether higher or lower figures are better")
    if scale.improvement(scale.baseline_test, scale.baseline_test) is None:
        raise _unfit("its baseline in the test is not known, or is the best that there can be")
    return scale


def _unfit(why: str) -> FiretrialError:
    return FiretrialError(Reason.PRECONDITION, f"an improvement cannot be measured on this task: {why}")


def steps_to_domain(lines: bytes) -> list[Step]:
    """The steps of a run. Raises CORRUPT."""
    try:
        told = [
            Parse(line, steps_pb2.RepositoryStep(), ignore_unknown_fields=True)
            for line in lines.splitlines()
            if line.strip()
        ]
    except (ParseError, UnicodeDecodeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the steps of the run are none: {error}") from error
    return [_step(step) for step in told]


def _step(told: steps_pb2.RepositoryStep) -> Step:
    valid = told.state == steps_pb2.RepositoryStep.STATE_VALID and math.isfinite(told.metric)
    metric = told.metric if valid and told.HasField("metric") else None
    return Step(told.step, metric, dict(told.files), tuple(told.findings))


def tested_to_domain(
    told: events_pb2.TestFinished, results: bytes | None, scale: Scale, *, apart: bool
) -> TrialEnd:
    """How a test ended, with what its results say.

    Where code of the agent runs in one process with what scores (not `apart`), whatever was found there makes
    the results worth nothing.
    """
    findings = tuple(told.findings)
    end = told.exit
    if end.termination != run_pb2.TERMINATION_EXITED or end.WhichOneof("status") != "code" or end.code:
        return TrialEnd(None, f"the test failed: {_how(end)}", findings)
    if results is None:
        return TrialEnd(None, "the test left no results", findings)
    if findings and not apart:
        return TrialEnd(None, f"constraint violated: {findings[0]}", findings)
    return TrialEnd(scale.of(results), "", findings)


def _how(end: run_pb2.Exit) -> str:
    if end.termination != run_pb2.TERMINATION_EXITED:
        return _TERMINATIONS.get(end.termination, "it did not end by itself")
    return f"it exited with {end.code}" if end.WhichOneof("status") == "code" else f"signal {end.signal}"


def judgement_of(run: run_pb2.Run, id_: str, result: Result, at: datetime) -> judgement_pb2.Judgement:
    """The judgement that is kept: a figure that was measured, which no judge has an opinion on."""
    judgement = judgement_pb2.Judgement(
        id=id_,
        run_id=run.id,
        task_id=run.task_id,
        config_hash=digest(VERSION),
        quality="measured in a sealed test, not judged",
        scores=judgement_pb2.Scores(score=result.test_improvement, measure=MEASURE),
        sealed=judgement_pb2.SealedResult(
            step=result.step,
            validation=result.validation,
            test=result.test,
            validation_improvement=result.validation_improvement,
            test_improvement=result.test_improvement,
            no_credit=result.no_credit,
            findings=result.findings,
        ),
        flags=list(_flags(result)),
        notes=result.findings,
    )
    judgement.judged_at.FromDatetime(at)
    return judgement


def _flags(result: Result) -> Iterator[str]:
    if result.no_credit:
        yield "no_credit"
    if result.findings:
        yield "tampering"
