"""What lasts of the judge's state: all but what it has lent. Judgements without a record are in the store."""

from __future__ import annotations

from collections.abc import Collection

from firetrial_judge.archive import Archive
from firetrial_judge.judging import SERVICE
from firetrial_judge.kinds import lent
from firetrial_judge.kinds.looking_wire import LOOK
from firetrial_judge.kinds.sealing import SealedRun
from firetrial_judge.records import JudgedRun, JudgementRecord
from firetrial_kit.keeping import Belongings, Installation, Steward
from firetrial_kit.records import Records

_FOLDER = "judgements/"
_SHARED = "named by what was asked, which other experiments may ask too"


async def complete(to: Installation) -> list[str]:
    """A record for each judgement that lies in the store; a run's newest stands for it."""
    judgements, runs = _judgements(to), Records(to.state, "run", JudgedRun)
    newest: dict[str, tuple[float, str]] = {}
    for key in await to.objects.keys("results", _FOLDER):
        id_ = key.removeprefix(_FOLDER).removesuffix(".json")
        if await judgements.find(id_) is not None or (found := await Archive(to.objects).find(id_)) is None:
            continue
        judgement, ref = found
        await judgements.create(id_, JudgementRecord(id_, judgement.run_id, ref))
        at = judgement.judged_at.ToDatetime().timestamp()
        newest[judgement.run_id] = max(newest.get(judgement.run_id, (0.0, "")), (at, id_))
    for run_id, (_, id_) in newest.items():
        await runs.create(run_id, JudgedRun(run_id, id_))
    return [f"{len(newest)} runs: their judgements were found in the store alone"] if newest else []


async def belongings(to: Installation, experiment_id: str, run_ids: Collection[str]) -> Belongings:
    """The judgements of its runs. Grades, claims of ground truths and answers of models are others' too."""
    mine, known = set(run_ids), await _judgements(to).all()
    found = [one for one in known if one.run_id in mine or one.experiment_id == experiment_id]
    sealed = Records(to.state, "sealed", SealedRun)
    tests = [test for id_ in run_ids if (test := await sealed.find(id_))]
    records = [f"judgement.{one.id}" for one in found]
    records += [f"{kind}.{id_}" for id_ in run_ids for kind in ("run", "sealed")]
    return Belongings(
        records=(*records, f"budget.{experiment_id}"),
        objects=tuple(
            [one.ref.uri for one in found]
            + [ref.uri for test in tests for ref in test.refs if await to.objects.stat(ref.uri)]
        ),
        others=tuple((f"results/{name}/", _SHARED) for name in ("judge-cache", "truth-claims", "grades")),
    )


async def unused(to: Installation) -> list[str]:
    """Copies for looks that no judge has noted: each is noted before it is put there, until it is removed."""
    looks = await to.objects.keys(lent.BUCKET, LOOK)
    noted = Records(to.state, lent.KIND, lent.Lying, shared=True)
    needed = {key for one in await noted.all() for key in one.keys}
    return [f"{lent.BUCKET}/{key}" for key in looks if key not in needed]


def _judgements(to: Installation) -> Records[JudgementRecord]:
    return Records(to.state, "judgement", JudgementRecord)


def _lasts(kind: str, _: bytes) -> bool:
    return kind != lent.KIND


STEWARD = Steward(SERVICE, "results", lasting=_lasts, complete=complete, belongings=belongings, unused=unused)
