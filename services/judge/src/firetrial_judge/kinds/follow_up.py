"""Judging a follow-up run: its submission is graded under both rubrics, and is valid or not.

What findings settle is asked of no model. V = C1 ∧ C2 ∧ C3, each with all its questions passed (Into the
Unknown); the main figure of several runs is the mean of V.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from firetrial.judge.v1 import judgement_pb2, rubric_pb2
from firetrial.parser.v1 import follow_up_pb2, task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_judge.archive import Archive, check_left
from firetrial_judge.judges import Backend
from firetrial_judge.judging import Judging
from firetrial_judge.kinds import handed_in
from firetrial_judge.kinds.findings import NOT_READ, Found, settled
from firetrial_judge.kinds.scratch import on_disk
from firetrial_judge.rubric.grade import LeafGrade
from firetrial_judge.rubric.grader import Grader
from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.scoring import conditions
from firetrial_judge.rubric.submission import Submission
from firetrial_judge.rubric.tree import Rubric
from firetrial_judge.rubric.wire import leaves_to_domain
from firetrial_judge.wire import spec_to_domain
from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.documents import load
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.objects import Objects, too_large, verified
from firetrial_kit.references import ref_to_wire

MEASURE = "validity"
_MAX_ARTIFACTS = 512 * 1024 * 1024
_UNCHECKED = "integrity_not_checked"


class Checker(Protocol):
    """Makes findings of a run that has ended."""

    async def check(self, run: run_pb2.Run) -> tuple[Found, ...]:
        """All of them. Raises UNAVAILABLE where they cannot be made now."""
        ...


@dataclass(frozen=True, slots=True)
class FollowUps:
    """`checker` finds what is wrong without a model; None where no analyzer is known.

    `by_model` says whether there is a model to ask.
    """

    archive: Archive
    objects: Objects
    judging: Judging
    grader: Grader
    clock: Clock
    checker: Checker | None = None
    by_model: bool = True

    async def judge(self, run: run_pb2.Run, slip: plan_pb2.Slip, task: task_pb2.Task) -> None:
        """Grade, keep and announce. Done before, it is announced again.

        Raises PRECONDITION where neither findings nor a model say whether the submission is valid, and what
        the store, the analyzer and the model raise.
        """
        await self.judging.keep(run, slip, await self.judgement(run, slip.plan.judge, task))

    async def judgement(
        self, run: run_pb2.Run, config: plan_pb2.JudgeConfig, task: task_pb2.Task
    ) -> judgement_pb2.Judgement:
        """The judgement of a run under a configuration; what was paid for once is not paid for again."""
        spec = spec_to_domain(config)
        rubric = both((await self.archive.secret(task)).rubrics)
        findings = await self.checker.check(run) if self.checker else ()
        submission = await self._submission(run)

        def settle(tree: Rubric) -> list[LeafGrade]:
            return settled(tree, findings)

        if self.by_model and spec.backend is not Backend.OFFLINE:
            grade = await self.grader.submission(rubric, submission, spec, settle)
        else:
            grade = await self.grader.settled(rubric, submission, settle)
        return await self._judgement(run, config, rubric, grade, findings)

    async def _judgement(
        self,
        run: run_pb2.Run,
        config: plan_pb2.JudgeConfig,
        rubric: bytes,
        grade: rubric_pb2.Grade,
        findings: tuple[Found, ...],
    ) -> judgement_pb2.Judgement:
        told = list(self._told(findings))
        stored = await self.objects.stat(f"results/grades/{grade.id}.json")
        judgement = judgement_pb2.Judgement(
            id=_id(run, grade),
            run_id=run.id,
            task_id=run.task_id,
            config=config,
            config_hash=grade.config_hash,
            quality="graded under rubrics; findings that need no model are facts to look into",
            scores=judgement_pb2.Scores(score=validity(grade), measure=MEASURE),
            usage=grade.usage,
            grade=ref_to_wire(stored) if stored else None,
            conditions=await asyncio.to_thread(_conditions, rubric, grade),
            flags=[*grade.flags, *(flag for flag, _ in told)],
            notes=[*grade.faults, *grade.notes, *(note for _, note in told)],
        )
        judgement.judged_at.FromDatetime(self.clock.now())
        return judgement

    def _told(self, findings: tuple[Found, ...]) -> Iterator[tuple[str, str]]:
        if self.checker is None:
            why = "no analyzer was asked for findings: set FIRETRIAL_JUDGE_ANALYZER_ADDRESS"
            yield _UNCHECKED, why
        for finding in findings:
            if finding.name == NOT_READ:
                yield "integrity_incomplete", finding.statement

    async def _submission(self, run: run_pb2.Run) -> Submission:
        log = handed_in.Log()
        for key in await self.objects.keys("runs", f"runs/{run.id}/trajectory/"):
            chunk = await self.objects.get(f"runs/{key}", max_size=4 * 1024 * 1024)
            await asyncio.to_thread(log.feed, chunk)
        if not run.HasField("artifacts"):
            return await asyncio.to_thread(handed_in.submission, None, log)
        check_left(run.artifacts.uri)
        with on_disk("the submission could not be read"), tempfile.TemporaryFile() as file:
            found = hashlib.sha256()
            async for piece in self.objects.stream(run.artifacts.uri):
                found.update(piece)
                await asyncio.to_thread(file.write, piece)
                if file.tell() > _MAX_ARTIFACTS:
                    raise too_large(run.artifacts.uri, file.tell(), _MAX_ARTIFACTS)
            verified(run.artifacts.uri, b"", found.hexdigest(), run.artifacts.sha256)
            file.seek(0)
            return await asyncio.to_thread(handed_in.submission, file, log)


def both(rubrics: follow_up_pb2.Rubrics) -> bytes:
    """The two rubrics as one: C1 of the one, C2 and C3 of the other."""
    integrity: dict[str, Any] = load(rubrics.integrity.encode(), "the integrity rubric")
    direction: dict[str, Any] = load(rubrics.direction.encode(), "the direction rubric")
    whole = {"id": "rubrics", "children": [{"condition": "C1", **integrity}, direction]}
    return json.dumps(whole, ensure_ascii=False).encode()


def _conditions(rubric: bytes, grade: rubric_pb2.Grade) -> list[judgement_pb2.Condition]:
    """What the grade comes to, condition by condition; undefined where a question has no grade."""
    scores = {id_: leaf.score for id_, leaf in leaves_to_domain(grade).items()}
    return [
        judgement_pb2.Condition(
            name=name,
            passed=tally.passed,
            total=tally.total,
            unscored=tally.unscored,
            p=tally.p,
            strict=tally.strict,
            almost=tally.almost,
        )
        for name, tally in conditions(read(load(rubric)).rubric, scores).tallies.items()
    ]


def _id(run: run_pb2.Run, grade: rubric_pb2.Grade) -> str:
    """A grade whose open questions were answered later is another judgement."""
    states = [leaf.state for leaf in grade.leaves]
    return tenants.beside(run.id, "j-" + digest(run.id, grade.id, states, length=32))


def validity(grade: rubric_pb2.Grade) -> float:
    """1 where all questions pass, 0 where one fails. Raises PRECONDITION where neither is known."""
    if any(leaf.state == rubric_pb2.LEAF_STATE_FAILED for leaf in grade.leaves):
        return 0.0
    open_ = [leaf.node_id for leaf in grade.leaves if leaf.state != rubric_pb2.LEAF_STATE_PASSED]
    if open_:
        raise FiretrialError(
            Reason.PRECONDITION,
            f"{len(open_)} questions have no grade, {open_[0]!r} for one: {_why(grade, open_[0])}",
        )
    return 1.0


def _why(grade: rubric_pb2.Grade, id_: str) -> str:
    if not grade.usage.calls:
        return (
            "rubrics are graded by a model, and none was asked (FIRETRIAL_JUDGE_MODEL_URL, "
            "FIRETRIAL_JUDGE_MODEL_NAME, and a plan for another judge than the offline one)"
        )
    return next((leaf.rationale for leaf in grade.leaves if leaf.node_id == id_), "")[:500]
