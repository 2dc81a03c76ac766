"""A leaderboard: agents by score, over one experiment or over all experiments of a release.

As JSON it is `firetrial.leaderboard/1` (its JSON Schema is `data/leaderboard-1.json`); `checksum` is the
sha256 of the whole, without itself, in canonical JSON. The same runs give the same bytes.

Every run that belongs to the release counts, in whichever experiment it was made, so that nobody can choose
the best of many. A run with another judge or of another task is left out and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from firetrial_analyzer import table
from firetrial_analyzer.outcomes import F1, Outcome
from firetrial_analyzer.release import Frozen
from firetrial_analyzer.scores import AgentScore, from_cells
from firetrial_analyzer.variance import Sample
from firetrial_analyzer.variation import variation
from firetrial_kit.errors import Fault, check, invalid
from firetrial_kit.ids import sha256

SCHEMA = "firetrial.leaderboard/1"
_ENTRANT = ("agent", "model", "provenance", "made_by")


@dataclass(frozen=True, slots=True)
class Entry:
    """One agent with one model, as its runs were made in one way by one maker.

    `rank` counts from 1 by falling score among complete entries, ties sharing the better rank; None for an
    entry that lacks runs. `score` is by `measure`, with a 95 % interval over tasks; F1 and its bounds are the
    same where that is F1, and null where it is not.
    `usd_per_run` is the mean over `usd_known` of the counted runs.
    """

    rank: int | None
    agent: str
    model: str
    provenance: str
    made_by: str
    f1: float | None
    f1_low: float | None
    f1_high: float | None
    f1_std_over_tasks: float | None
    f1_std_over_repeats: float | None
    precision: float | None
    recall: float | None
    tasks: int
    tasks_expected: int
    runs_counted: int
    runs_expected: int
    agent_failed: int
    usd_per_run: float | None
    usd_known: int
    wall_seconds_per_run: float | None
    measure: str
    score: float | None
    score_low: float | None
    score_high: float | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Runs that are of the experiments and not of the leaderboard."""

    reason: str
    runs: int


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """`judge_config_hash` is empty where the runs were judged in several ways. Entries by rank, then name.

    `calibrated` says that a calibration against people's labels speaks for the judge of every scored run.
    """

    release: str
    release_checksum: str
    experiments: tuple[str, ...]
    judge_config_hash: str
    calibrated: bool
    calibration_ids: tuple[str, ...]
    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]

    def to_json(self) -> bytes:
        """The export, with its checksum."""
        told = {"schema": SCHEMA, **asdict(self)}
        return _encoded(told | {"checksum": _checksum(told)}) + b"\n"


def leaderboard(
    experiments: Mapping[str, pl.DataFrame],
    release: Frozen | None = None,
    *,
    probe: Sequence[str] = (),
    tasks: Sequence[str] = (),
    repeats: int = 0,
) -> Leaderboard:
    """From the rows of each experiment (see `columns`).

    A release says which tasks and repeats are expected; without one, `tasks` and `repeats` do. Agents named
    in `probe` answer from memory and are no entrants. Raises INVALID for rows that contradict each other.
    """
    ended = _ended(experiments).filter(~pl.col("agent").is_in(list(probe)))
    kept, left_out = _sorted_out(ended, release)
    expected = [task.id for task in release.tasks] if release else list(tasks)
    scored = kept.filter(pl.col("outcome") == Outcome.SCORED.value)
    configs = scored["judge_config"].unique().drop_nulls().sort().to_list()
    calibrations = scored["judge_calibration"].fill_null("").unique().sort().to_list()
    entries = [
        _entry(entrant, runs, expected, release.repeats if release else repeats)
        for entrant, runs in kept.group_by(*_ENTRANT)
    ]
    return Leaderboard(
        release=release.name if release else "",
        release_checksum=release.checksum if release else "",
        experiments=tuple(sorted(experiments)),
        judge_config_hash=release.judge_config_hash if release else _only(configs),
        calibrated=bool(calibrations) and "" not in calibrations,
        calibration_ids=tuple(id_ for id_ in calibrations if id_),
        entries=_ranked(entries),
        left_out=left_out,
    )


def verify(data: bytes) -> None:
    """Raises INVALID for bytes that are no leaderboard, or one that was changed after its export."""
    try:
        told = json.loads(data)
    except ValueError as error:
        raise invalid("the leaderboard", [Fault("leaderboard", "", f"must be JSON: {error}")]) from error
    if not isinstance(told, dict) or told.get("schema") != SCHEMA:
        raise invalid("the leaderboard", [Fault("schema", str(told)[:40], f"must be {SCHEMA}")])
    claimed = told.pop("checksum", "")
    found = _checksum(told)
    cure = f"must be {found}: the file was changed after it was exported"
    check("the leaderboard", [Fault("checksum", str(claimed), cure)] if claimed != found else [])


def _ended(experiments: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The slots of all experiments that have ended; repeats go on counting from one to the next."""
    parts = []
    for name in sorted(experiments):
        attempts = table.attempts(experiments[name])
        table.refuse(attempts)
        parts.append(table.latest(attempts))
    if not parts:
        raise invalid("the leaderboard", [Fault("experiments", "none", "must be at least one")])
    ordered = pl.concat(parts).sort("task", *_ENTRANT, "experiment", "repeat")
    return ordered.with_columns(repeat=pl.int_range(1, pl.len() + 1).over("task", *_ENTRANT).cast(pl.Int32))


def _sorted_out(ended: pl.DataFrame, release: Frozen | None) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """The runs that belong to the release, and how many do not, by why."""
    if release is None:
        return ended, ()
    ours = pl.col("task").is_in([task.id for task in release.tasks])
    judged = (pl.col("judge_config") == release.judge_config_hash).fill_null(value=False)
    scored = pl.col("outcome") == Outcome.SCORED.value
    reasons = {
        "its task is not of the release": ~ours,
        "it was judged in another way": ours & scored & ~judged,
    }
    counted = [(reason, ended.filter(rule).height) for reason, rule in reasons.items()]
    kept = ended.filter(ours & (judged | ~scored))
    return kept, tuple(LeftOut(reason, runs) for reason, runs in counted if runs)


def _entry(entrant: Sequence[Any], runs: pl.DataFrame, tasks: Sequence[str], repeats: int) -> Entry:
    agent, model, provenance, made_by = (part or "" for part in entrant)
    known = sorted({*tasks, *runs["task"].unique()})
    (score,) = from_cells(table.cells(runs, table.grid(known, [agent], repeats))).agents
    (cost,) = table.costs(runs, runs)
    samples: Sample = table.samples(runs, score.measure).get(agent, {})
    over = variation(samples).over_tasks if samples else None
    return Entry(
        rank=None,
        agent=agent,
        model=model,
        provenance=provenance,
        made_by=made_by,
        f1_low=over.low if over and score.measure == F1 else None,
        f1_high=over.high if over and score.measure == F1 else None,
        score_low=over.low if over else None,
        score_high=over.high if over else None,
        usd_per_run=cost.per_run.usd.mean,
        usd_known=cost.per_run.usd.counted,
        wall_seconds_per_run=cost.per_run.wall_seconds.mean,
        **_scores(score),
    )


def _scores(score: AgentScore) -> dict[str, Any]:
    return {
        "f1": score.f1.mean,
        "f1_std_over_tasks": score.f1.std_over_tasks,
        "f1_std_over_repeats": score.f1.std_over_repeats,
        "precision": score.precision.mean,
        "recall": score.recall.mean,
        "measure": score.measure,
        "score": score.main.mean,
        "tasks": score.main.tasks_counted,
        "tasks_expected": score.main.tasks_total,
        "runs_counted": score.main.counted,
        "runs_expected": score.main.total,
        "agent_failed": score.outcomes.agent_failed,
    }


def _ranked(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    def key(entry: Entry) -> tuple[Any, ...]:
        score = entry.score if entry.score is not None else -1.0
        return (
            not _complete(entry),
            entry.score is None,
            -score,
            *(getattr(entry, name) for name in _ENTRANT),
        )

    return tuple(_with_ranks(sorted(entries, key=key)))


def _with_ranks(ordered: Sequence[Entry]) -> Iterator[Entry]:
    rank, before = 0, None
    for place, entry in enumerate(ordered, 1):
        if not _complete(entry):
            yield entry
            continue
        rank = rank if entry.score == before else place
        before = entry.score
        yield Entry(**asdict(entry) | {"rank": rank})


def _complete(entry: Entry) -> bool:
    return entry.score is not None and entry.runs_counted >= entry.runs_expected


def _only(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else ""


def _checksum(told: Mapping[str, Any]) -> str:
    return sha256(_encoded(told))


def _encoded(told: Mapping[str, Any]) -> bytes:
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()
