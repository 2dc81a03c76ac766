"""What lasts of the runner's state, and how the rest of it follows.

Ended runs are kept as they are, and so are agents, experiments and what they have spent. What had not ended
follows: a run whose result is in the store had concluded, and its judge is asked again; any other of the
experiment's slots is queued anew. What was under way is run again from its beginning.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.keeping import Belongings, Installation, Steward
from firetrial_runner import keys
from firetrial_runner import run as runs
from firetrial_runner.announce import SERVICE, Announcer
from firetrial_runner.experiment import Experiment, attempts, counts, expand, has_ended
from firetrial_runner.kinds import looks
from firetrial_runner.kinds.sealed import trial_id
from firetrial_runner.records import Books, RunRecord
from firetrial_runner.run import Run
from firetrial_runner.turn_taking import TurnTaking
from firetrial_runner.wire import experiment_plan, experiment_slip, result_to_domain

_FOLLOWS = frozenset(("offers", "turns", "line"))
_SHARED = "other experiments may use it"


def lasting(kind: str, value: bytes) -> bool:
    """Whether a record is kept: of runs those that have ended, of sealed tests all but looks."""
    if kind == "test":
        return not _of_look(str(json.loads(value)["id"]))
    return kind not in _FOLLOWS and (kind != "run" or json.loads(value)["run"]["state"] == "ended")


def _of_look(test_id: str) -> bool:
    return looks.is_look(test_id.rpartition("-")[0])


async def complete(to: Installation) -> list[str]:
    """Every slot of every experiment has its run again; what was under way is told."""
    books, said = Books(to.state), []
    for id_ in await books.experiments.ids():
        experiment = await books.experiments.find(id_)
        if experiment is None or experiment.failure:
            continue
        made = [record for first in _first(experiment) if (record := await _latest(to, experiment, first))]
        for record in made:
            await _announce(to, record)
        await TurnTaking(books, Announcer(to.bus, to.clock)).fill(id_)
        if made:
            told = ", ".join(record.run.id for record in made[:5]) + (", …" if len(made) > 5 else "")
            said.append(f"experiment {id_}: {len(made)} runs had not ended, and go on or begin anew: {told}")
    return said


async def _latest(to: Installation, experiment: Experiment, first: Run) -> RunRecord | None:
    """The run that a slot stands at, where it had to be made; None where it has ended."""
    books, run = Books(to.state), first
    while (known := await books.runs.find(run.id)) is not None and known.run.superseded:
        run = runs.next_attempt(known.run, to.clock.now())
    if known is not None:
        return None if known.run.state is runs.RunState.ENDED else known
    record = RunRecord(run, experiment_slip(experiment))
    record = replace(record, run=await _result(to, record) or run)
    if experiment.cancel_requested:
        record = replace(record, run=runs.cancelled(record.run, to.clock.now()) or record.run)
    await books.runs.create(run.id, record)
    if record.run.superseded:
        return await _latest(to, experiment, first)
    return None if record.run.state is runs.RunState.ENDED else record


async def _result(to: Installation, record: RunRecord) -> Run | None:
    try:
        stored = await to.objects.get(keys.uri(keys.of_run(record.run.id, "result.json")))
        return result_to_domain(stored, record)
    except FiretrialError as error:
        if error.reason not in {Reason.NOT_FOUND, Reason.CORRUPT}:
            raise
    return None


async def _announce(to: Installation, record: RunRecord) -> None:
    announce, books = Announcer(to.bus, to.clock), Books(to.state)
    if record.run.is_over:
        await announce.finished(record)
    elif record.run.state is runs.RunState.RUNNING:
        await announce.again(record)  # whoever takes it finds its runner gone
    elif held := await TurnTaking(books, announce).hold(record):
        await books.change_run(record.run.id, lambda run: runs.waits(run, held))
    else:
        await announce.requested(record)


def _first(experiment: Experiment) -> list[Run]:
    return expand(experiment.id, experiment.task_ids, experiment_plan(experiment), experiment.submitted_at)


async def belongings(to: Installation, experiment_id: str, _: Collection[str]) -> Belongings:
    """Its runs with all that they left. Agents, tasks and proposals are others' too."""
    books = Books(to.state)
    experiment = await books.experiments.find(experiment_id)
    if experiment is None:
        return Belongings()
    known = set(await books.runs.ids())
    ids = [id_ for first in _first(experiment) for id_ in attempts(first) if id_ in known]
    found = [record.run for record in await books.find_runs(ids)]
    ended = has_ended(experiment, counts(found))
    objects = [f"runs/{key}" for id_ in ids for key in await to.objects.keys("runs", keys.of_run(id_, ""))]
    tests = [f"test.{id_}" for id_ in await books.tests.ids() if id_.rpartition("-")[0] in set(ids)]
    own = [f"{kind}.{experiment_id}" for kind in ("account", "turns", "experiment")]
    agents = [(keys.uri(keys.bundle(agent)), _SHARED) for agent in experiment_plan(experiment).agents]
    return Belongings(
        records=(*(f"run.{run.id}" for run in found), *tests, *own),
        objects=tuple(objects),
        runs=tuple(ids),
        others=(*agents, *((keys.uri(keys.task(task)), _SHARED) for task in experiment.task_ids)),
        running="" if ended else f"{experiment_id} has runs that have not ended: cancel it first",
        ended=max((run.ended_at for run in found if run.ended_at), default=experiment.submitted_at),
    )


async def _forgotten(books: Books, key: str) -> bool:
    """Whether an object is of a look of which nothing is known."""
    match key.split("/"):
        case [_, id_, "test", attempt, _] if looks.is_look(id_) and attempt.isdecimal():
            if await books.runs.find(id_) is not None:
                return False
            return await books.tests.find(trial_id(id_, int(attempt))) is None
        case _:
            return False


async def unused(to: Installation) -> list[str]:
    """What looks left whose records are gone, and copies of such records, which are made no more."""
    books, left = Books(to.state), await to.objects.keys(keys.BUCKET, keys.of_runs(looks.START))
    found = [keys.uri(key) for key in left if await _forgotten(books, key)]
    copies = (key for key in await STEWARD.copies(to.objects) if key.startswith("test."))
    old = [keys.uri(STEWARD.place(key)) for key in copies if _of_look(key.removeprefix("test."))]
    return [*found, *old]


STEWARD = Steward(SERVICE, "runs", lasting, complete, belongings, unused)
