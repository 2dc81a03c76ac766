"""Grades of submissions, kept in the object store under an id that is a function of what they grade."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from google.protobuf.json_format import MessageToJson, Parse, ParseError

from firetrial.judge.v1 import rubric_pb2
from firetrial_judge.rubric.document import load
from firetrial_judge.rubric.grade import State, grade_id, totals
from firetrial_judge.rubric.grading import RubricJudge, load_prompt
from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.submission import Submission, from_tar
from firetrial_judge.rubric.tree import Rubric
from firetrial_judge.rubric.wire import fill, leaves_to_domain, usage_to_domain
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.ids import sha256
from firetrial_kit.models import ModelClient
from firetrial_kit.objects import Objects

MAX_RUBRIC = 4 * 1024 * 1024
MAX_FILES = 3 * 1024 * 1024


class Grader:
    """Grades by models. `client` gives the client of a model by name, "" for the configured one."""

    def __init__(self, objects: Objects, client: Callable[[str], ModelClient], clock: Clock) -> None:
        self._objects = objects
        self._client = client
        self._clock = clock
        self._prompt = load_prompt()
        self._running: dict[str, asyncio.Task[rubric_pb2.Grade]] = {}

    async def grade(self, rubric: bytes, files: bytes, model: str) -> rubric_pb2.Grade:
        """The grade of a tar's files under a rubric file. What was graded before is not paid for again.

        Raises INVALID for a malformed rubric or tar, and what the model's client raises; what was graded
        until then is kept. Going on does not depend on the caller: one that comes back finds what was done.
        """
        faults = [Fault("rubric", f"{len(rubric)} bytes", f"must have 1 to {MAX_RUBRIC}")]
        faults += [Fault("files", f"{len(files)} bytes", f"must have 1 to {MAX_FILES}")]
        fits = [0 < len(rubric) <= MAX_RUBRIC, 0 < len(files) <= MAX_FILES]
        check("the request", [fault for fault, ok in zip(faults, fits, strict=True) if not ok])
        judge = RubricJudge(self._client(model), self._prompt)
        tree = await asyncio.to_thread(lambda: read(load(rubric)).rubric)
        submission = await asyncio.to_thread(from_tar, files)
        id_ = grade_id(submission.sha256, sha256(rubric), judge.config_hash)
        if id_ not in self._running:
            grade = rubric_pb2.Grade(
                id=id_,
                rubric_sha256=sha256(rubric),
                submission_sha256=submission.sha256,
                config_hash=judge.config_hash,
            )
            task = asyncio.create_task(self._grade(judge, tree, submission, grade))
            self._running[id_] = task
            task.add_done_callback(lambda done: self._ended(id_, done))
        return await asyncio.shield(self._running[id_])

    def _ended(self, id_: str, task: asyncio.Task[rubric_pb2.Grade]) -> None:
        del self._running[id_]
        if not task.cancelled():
            task.exception()  # whoever waits gets it; it is no fault that nobody does

    async def _grade(
        self, judge: RubricJudge, rubric: Rubric, submission: Submission, grade: rubric_pb2.Grade
    ) -> rubric_pb2.Grade:
        before = await self._stored(grade.id)
        done = leaves_to_domain(before)
        if before.id and all(leaf.state is not State.UNSCORED for leaf in done.values()):
            return before
        graded = await judge.grade(rubric, submission, done)
        usage = usage_to_domain(before.usage) + graded.usage
        fill(grade, graded.leaves, totals(rubric, graded.leaves), usage, submission.notes)
        grade.graded_at.FromDatetime(self._clock.now())
        data = MessageToJson(grade, preserving_proto_field_name=True).encode()
        await self._objects.put("results", _key(grade.id), data, "application/json")
        if graded.error:
            raise graded.error
        return grade

    async def _stored(self, id_: str) -> rubric_pb2.Grade:
        """The grade with this id, an empty one where there is none."""
        uri = f"results/{_key(id_)}"
        if await self._objects.stat(uri) is None:
            return rubric_pb2.Grade()
        try:
            return Parse(await self._objects.get(uri), rubric_pb2.Grade(), ignore_unknown_fields=True)
        except (ParseError, UnicodeDecodeError) as error:
            raise FiretrialError(Reason.CORRUPT, f"the stored grade {id_} cannot be read: {error}") from error


def _key(id_: str) -> str:
    return f"grades/{id_}.json"
