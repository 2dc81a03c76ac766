"""Grades of submissions, kept in the object store under an id that is a function of what they grade."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from google.protobuf.json_format import MessageToJson, Parse, ParseError

from firetrial.judge.v1 import rubric_pb2
from firetrial_judge.judges import Spec
from firetrial_judge.panel import polled
from firetrial_judge.rubric.grade import LeafGrade, State, grade_id, totals
from firetrial_judge.rubric.grading import Looking, RubricJudge, in_part, load_prompt
from firetrial_judge.rubric.panel import INCOMPLETE, Seat, Turn, decided, panel_flags, panel_hash
from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.shown import Limits, SharedReader
from firetrial_judge.rubric.submission import Submission, from_tar
from firetrial_judge.rubric.tree import Rubric
from firetrial_judge.rubric.wire import fill, leaves_to_domain, usage_to_domain
from firetrial_judge.spending import Purses
from firetrial_kit.asking import Price, Spent
from firetrial_kit.clock import Clock
from firetrial_kit.documents import load
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_kit.ids import digest, sha256
from firetrial_kit.models import ModelClient
from firetrial_kit.objects import Objects

MAX_RUBRIC = 4 * 1024 * 1024
MAX_FILES = 3 * 1024 * 1024
UNSCORED = "unscored_leaves"
_MAX_GRADE = 512 * 1024 * 1024  # of thousands of questions, each with what was looked at for it


@dataclass(frozen=True, slots=True)
class _Work:
    """What is graded: a rubric and its hash, and a submission. What is `settled` is not asked."""

    rubric: Rubric
    sha256: str
    submission: Submission
    settled: Mapping[str, LeafGrade]
    reader: SharedReader

    def id(self, config_hash: str) -> str:
        """The id of its grade by judges of this hash."""
        settled = [[one.id, one.rationale, *one.settled_by] for one in self.settled.values()]
        told = digest(config_hash, settled) if settled else config_hash
        return grade_id(self.submission.sha256, self.sha256, told)


class Grader:
    """Grades by models. `client` gives the client of a model by name, "" for the configured one.

    `prices` by the model's name; `purses` pay where a cap is asked for; `looking` is how they may
    look further.
    """

    def __init__(
        self,
        objects: Objects,
        client: Callable[[str], ModelClient],
        clock: Clock,
        *,
        prices: Mapping[str, Price] | None = None,
        purses: Purses | None = None,
        looking: Looking | None = None,
    ) -> None:
        self._objects = objects
        self._looking = looking
        self._client = client
        self._clock = clock
        self._prices = prices or {}
        self._purses = purses
        self._prompt = load_prompt()
        self._running: dict[str, asyncio.Task[tuple[rubric_pb2.Grade, Spent]]] = {}

    async def grade(self, rubric: bytes, files: bytes, spec: Spec) -> rubric_pb2.Grade:
        """The grade of a tar's files under a rubric file, by the judges that `spec` asks for.

        What was graded before is not paid for again; a cap is for one grade, however often it is asked for.
        Raises INVALID for a malformed rubric or tar, PRECONDITION where a cap is reached or cannot be kept,
        and what the models' clients raise; what was graded until then is kept. Going on does not depend on
        the caller: one that comes back finds what was done.
        """
        faults = [Fault("rubric", f"{len(rubric)} bytes", f"must have 1 to {MAX_RUBRIC}")]
        faults += [Fault("files", f"{len(files)} bytes", f"must have 1 to {MAX_FILES}")]
        fits = [0 < len(rubric) <= MAX_RUBRIC, 0 < len(files) <= MAX_FILES]
        check("the request", [fault for fault, ok in zip(faults, fits, strict=True) if not ok])
        return await self.submission(rubric, await asyncio.to_thread(from_tar, files), spec)

    async def submission(
        self,
        rubric: bytes,
        submission: Submission,
        spec: Spec,
        settle: Callable[[Rubric], Sequence[LeafGrade]] = lambda _: (),
    ) -> rubric_pb2.Grade:
        """The same of a submission of any size; what `settle` gives is not asked again. Raises as `grade`."""
        seats = self._seats(spec)
        work = await _work(rubric, submission, settle)
        id_ = work.id(panel_hash(seats))
        seats = self._charged(seats, id_, spec.max_cost_usd)
        if len(seats) == 1:
            return (await self._by_seat(seats[0], work))[0]
        return (await self._once(id_, lambda: self._by_panel(seats, work, id_)))[0]

    async def settled(
        self, rubric: bytes, submission: Submission, settle: Callable[[Rubric], Sequence[LeafGrade]]
    ) -> rubric_pb2.Grade:
        """What can be said where no model is asked: all that is not settled has no grade. Raises INVALID."""
        work = await _work(rubric, submission, settle)
        before = await self._stored(work.id(""))
        if before.id:
            return before
        grade = self._new(work.id(""), "", work)
        leaves = [
            work.settled.get(leaf.id) or LeafGrade(leaf.id, State.UNSCORED, rationale="no model was asked")
            for leaf in work.rubric.leaves
        ]
        await self._keep(grade, work, leaves, Spent(), submission.flags)
        return grade

    def _seats(self, spec: Spec) -> list[Seat]:
        names = [spec.model, *spec.panel]
        members = [self._judge(name) for name in names]
        models = [member.model for member in members]
        if len(set(models)) != len(models):
            cure = "must name each model once: ask for repeats instead"
            raise invalid("the judge's configuration", [Fault("config.panel", ", ".join(models), cure)])
        return [Seat(member, turn) for turn in range(1, spec.repeats + 1) for member in members]

    def _judge(self, name: str) -> RubricJudge:
        client = self._client(name)
        price = self._prices.get(client.endpoint.model)
        return RubricJudge(client, self._prompt, price=price, looking=self._looking)

    def _charged(self, seats: list[Seat], id_: str, cap: float | None) -> list[Seat]:
        if cap is None or self._purses is None:
            return seats
        purse = self._purses.of(id_, cap)
        return [replace(seat, judge=seat.judge.charged(purse)) for seat in seats]

    async def _once(
        self, id_: str, work: Callable[[], Coroutine[Any, Any, tuple[rubric_pb2.Grade, Spent]]]
    ) -> tuple[rubric_pb2.Grade, Spent]:
        """The work under this id, begun or joined."""
        if id_ not in self._running:
            task = asyncio.create_task(work())
            self._running[id_] = task
            task.add_done_callback(lambda done: self._ended(id_, done))
        return await asyncio.shield(self._running[id_])

    def _ended(self, id_: str, task: asyncio.Task[tuple[rubric_pb2.Grade, Spent]]) -> None:
        del self._running[id_]
        if not task.cancelled():
            task.exception()  # whoever waits gets it; it is no fault that nobody does

    async def _by_seat(self, seat: Seat, work: _Work) -> tuple[rubric_pb2.Grade, Spent]:
        """One judge's grade in one of its turns, and what was paid for it now."""
        id_ = work.id(seat.hash)
        return await self._once(id_, lambda: self._graded(seat, work, id_))

    async def _graded(self, seat: Seat, work: _Work, id_: str) -> tuple[rubric_pb2.Grade, Spent]:
        before = await self._stored(id_)
        done = leaves_to_domain(before)
        if before.id and all(leaf.state is not State.UNSCORED for leaf in done.values()):
            return before, Spent(cache_hits=len(done))
        graded = await seat.judge.grade(work.rubric, work.submission, {**done, **work.settled}, work.reader)
        spent = usage_to_domain(before.usage) + graded.spent
        grade = self._new(id_, seat.hash, work)
        await self._keep(grade, work, graded.leaves, spent, graded.flags)
        if graded.error:
            raise graded.error
        return grade, graded.spent

    async def _by_panel(self, seats: Sequence[Seat], work: _Work, id_: str) -> tuple[rubric_pb2.Grade, Spent]:
        before = await self._stored(id_)
        if before.id and INCOMPLETE not in before.flags and _all_voted(leaves_to_domain(before)):
            return before, Spent()
        found, abstained = await polled([(seat.judge.model, self._by_seat(seat, work)) for seat in seats])
        given = [(seat, *answer) for seat, answer in zip(seats, found, strict=True) if answer is not None]
        turns = [Turn(s.judge.model, s.repeat, leaves_to_domain(grade)) for s, grade, _ in given]
        leaves = decided(work.rubric.leaves, turns)
        paid = sum((spent for _, _, spent in given), Spent())
        flags = {**work.submission.flags, **in_part(given[0][1].flags), **panel_flags(leaves, abstained)}
        grade = self._new(id_, panel_hash(seats), work)
        await self._keep(grade, work, leaves, usage_to_domain(before.usage) + paid, flags)
        return grade, paid

    def _new(self, id_: str, config_hash: str, work: _Work) -> rubric_pb2.Grade:
        return rubric_pb2.Grade(
            id=id_,
            rubric_sha256=work.sha256,
            submission_sha256=work.submission.sha256,
            config_hash=config_hash,
        )

    async def _keep(
        self,
        grade: rubric_pb2.Grade,
        work: _Work,
        leaves: Sequence[LeafGrade],
        spent: Spent,
        flags: Mapping[str, Sequence[str]],
    ) -> None:
        """Fill a grade and store it under its id. A flag without words does not hold."""
        open_ = sum(leaf.state is State.UNSCORED for leaf in leaves)
        told = {**flags, UNSCORED: [f"{open_} questions have no grade"] if open_ else []}
        fill(grade, leaves, totals(work.rubric, leaves), spent, work.submission.notes)
        grade.flags.extend(flag for flag, words in told.items() if words)
        grade.notes.extend(note for words in told.values() for note in words)
        grade.graded_at.FromDatetime(self._clock.now())
        data = MessageToJson(grade, preserving_proto_field_name=True).encode()
        await self._objects.put("results", _key(grade.id), data, "application/json")

    async def _stored(self, id_: str) -> rubric_pb2.Grade:
        """The grade with this id, an empty one where there is none."""
        uri = f"results/{_key(id_)}"
        if await self._objects.stat(uri) is None:
            return rubric_pb2.Grade()
        try:
            data = await self._objects.get(uri, max_size=_MAX_GRADE)
            return Parse(data, rubric_pb2.Grade(), ignore_unknown_fields=True)
        except (ParseError, UnicodeDecodeError) as error:
            raise FiretrialError(Reason.CORRUPT, f"the stored grade {id_} cannot be read: {error}") from error


async def _work(
    rubric: bytes, submission: Submission, settle: Callable[[Rubric], Sequence[LeafGrade]]
) -> _Work:
    tree = await asyncio.to_thread(lambda: read(load(rubric, "the rubric")).rubric)
    settled = {leaf.id: leaf for leaf in settle(tree)}
    return _Work(tree, sha256(rubric), submission, settled, SharedReader(submission, Limits()))


def _key(id_: str) -> str:
    return f"grades/{id_}.json"


def _all_voted(leaves: Mapping[str, LeafGrade]) -> bool:
    return all(vote.state is not State.UNSCORED for leaf in leaves.values() for vote in leaf.votes)
