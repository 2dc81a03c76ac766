"""One process of the bench of reports: `make FOLDER RUNS` fills a store with judged runs, `report FOLDER`
renders every format and adds a run. What it measured is a line of JSON on standard output."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prometheus_client import CollectorRegistry

from firetrial_analyzer.analysis import AnalysedRun, Judge, analyse_judged
from firetrial_analyzer.announce import Announcer
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict, f1
from firetrial_analyzer.columns import Row, row
from firetrial_analyzer.ledger import Ledger
from firetrial_analyzer.metrics import AnalyzerMetrics
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Usage
from firetrial_analyzer.record import Plan, ReportRecord
from firetrial_analyzer.render import Format
from firetrial_analyzer.reports import Reports
from firetrial_kit.clock import SystemClock
from firetrial_kit.fs import FilesystemObjects
from firetrial_kit.objects import GRANTS, Objects
from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryBus, InMemoryState

EXPERIMENT = "e-bench"
TASKS, AGENTS = 30, 12
FORMATS = (Format.JSON, Format.HTML, Format.MARKDOWN, Format.LATEX, Format.CSV, Format.PARQUET)
# Analyses that the store has besides the rows: those of the repeats that a report shows, and some more.
_DETAILED_REPEATS = 4
_START = datetime(2026, 1, 5, tzinfo=UTC)
_JUDGE = Judge("model", "judge-large-2", "9c41f0aa77e1", "kappa 0.81 (95 % interval 0.74 to 0.87)", "c-17")
_TRUTH = tuple(f"Finding {n}: the error falls by {3 * n}.{n} points as the model grows" for n in range(6))


def plan(runs: int) -> Plan:
    repeats = -(-runs // (TASKS * AGENTS))
    return Plan(TASKS * AGENTS * repeats, tuple(map(agent_name, range(AGENTS))), repeats, "model-1")


def agent_name(number: int) -> str:
    return f"agent-{number:02d}@{number * 7919:08x}"


def run_of(number: int) -> AnalysedRun:
    """A judged run; one in twenty fails, and one in fifty is an attempt that another followed."""
    rng = random.Random(number)  # noqa: S311 - made-up data, no secret
    task, agent, repeat = number % TASKS, number // TASKS % AGENTS, number // (TASKS * AGENTS) + 1
    began = _START + timedelta(seconds=37 * number)
    wall = rng.lognormvariate(6.5, 0.6)
    prompt, completion = rng.randrange(10_000, 900_000), rng.randrange(500, 60_000)
    priced = agent % 5 != 0
    run = RunOutcome(
        f"r-{rng.getrandbits(64):016x}", EXPERIMENT, f"task-{task:03d}-{task * 104729:012x}",
        agent_name(agent), repeat, 1, Outcome.SCORED,
        usage=Usage(
            wall, wall * rng.uniform(0.2, 3), rng.randrange(2**28, 2**34), prompt + completion,
            prompt * 1e-6 + completion * 8e-6 if priced else None, wall if agent % 2 else 0.0, prompt // 3,
            prompt, completion, rng.randrange(5, 200), 0 if priced else 9,
        ),
        ending="exited with 0", started_at=began, ended_at=began + timedelta(seconds=wall), model="model-1",
    )  # fmt: skip
    if number % 20 == 19:
        failed = replace(run, outcome=Outcome.AGENT_FAILED, reason=f"no conclusion after step {number % 7}")
        return AnalysedRun(failed)
    if number % 50 == 7:
        lost = replace(run, outcome=Outcome.INFRA_FAILED, superseded=True, reason="the runner vanished")
        return AnalysedRun(lost)
    return judged(run, rng, 0.2 + 0.05 * agent)


def judged(run: RunOutcome, rng: random.Random, skill: float) -> AnalysedRun:
    claims = tuple(_claim(f"a{n}", f"Claim {n} of {run.run_id}", rng, skill) for n in range(8))
    truths = tuple(_claim(f"t{n}", text, rng, skill) for n, text in enumerate(_TRUTH))
    sides = [[claim.verdict for claim in side] for side in (claims, truths)]
    precision, recall = (side.count(Verdict.ENTAILED) / len(side) for side in sides)
    scored = replace(run, precision=precision, recall=recall, f1=f1(*sides))
    judgement = Judgement(run.run_id, claims, truths, (run.ended_at or _START) + timedelta(minutes=3))
    return analyse_judged(scored, f"j-{rng.getrandbits(64):016x}", _JUDGE, judgement)


def _claim(id_: str, text: str, rng: random.Random, skill: float) -> JudgedClaim:
    wrong = Verdict.NEUTRAL if rng.random() < 0.7 else Verdict.CONTRADICTED
    return JudgedClaim(id_, text, Verdict.ENTAILED if rng.random() < skill else wrong, _TRUTH[0], "because")


class World:
    def __init__(self, folder: Path, state: InMemoryState) -> None:
        self.objects: Objects = FilesystemObjects(folder / "objects", GRANTS["analyzer"])
        self.records = Records(state, "report", ReportRecord)
        self.ledger = Ledger(self.records, self.objects, SystemClock())
        self.archive = Archive(self.objects)
        self.reports = Reports(
            ledger=self.ledger,
            archive=self.archive,
            announcer=Announcer(InMemoryBus(), SystemClock()),
            metrics=AnalyzerMetrics(CollectorRegistry()),
        )


async def make(folder: Path, runs: int, by_one: int = 500) -> dict[str, float]:
    """All but the last `by_one` runs at once, as a rebuild does it; these one after another, as they end."""
    state = InMemoryState()
    world = World(folder, state)
    rows: list[Row] = []
    for number in range(runs - by_one):
        item = run_of(number)
        rows.append(row(item))
        if item.run.repeat <= _DETAILED_REPEATS:
            await world.archive.put_analysis(item)
    await world.ledger.rebuild(EXPERIMENT, rows)
    rows.clear()
    last = [run_of(number) for number in range(runs - by_one, runs)]
    # Not planned in full, so that no report is made on the way.
    whole = replace(plan(runs), expected_runs=plan(runs).expected_runs + 1)
    told: dict[str, float] = {}
    await world.reports.add(last[0], whole)
    with timed(told, "ingest"):
        for item in last[1:]:
            await world.reports.add(item, whole)
    entry = await state.get(f"report.{EXPERIMENT}")
    assert entry
    (folder / "record.json").write_bytes(entry.value)
    record = await world.records.get(EXPERIMENT)
    return told | {
        "ingested": by_one - 1,
        "rows": record.rows,
        "parts": len(record.parts),
        "record_bytes": len(entry.value),
        "rss_mib": rss(),
    }


async def report(folder: Path) -> dict[str, float]:
    """A cold process: every format, one again, and then the report with one more run, twice."""
    state = InMemoryState()
    await state.create(f"report.{EXPERIMENT}", (folder / "record.json").read_bytes())
    world = World(folder, state)
    told: dict[str, float] = {}
    with timed(told, "all"):
        for form in FORMATS:
            with timed(told, form.value):
                data = await world.reports.rendered(EXPERIMENT, form)
            told[f"{form.value}_bytes"] = len(data)
    told["rss_mib"] = rss()
    with timed(told, "again"):
        await world.reports.rendered(EXPERIMENT, Format.HTML)
    record = await world.records.get(EXPERIMENT)
    for name, number in (("first_update", 2**31), ("update", 2**31 + 1)):
        item = run_of(number)
        with timed(told, name):
            await world.reports.add(item, record.plan)
            data = await world.reports.rendered(EXPERIMENT, Format.JSON)
    told["ended"], told["ended_after"] = record.ended, json.loads(data)["ended_runs"]
    return told


@contextmanager
def timed(told: dict[str, float], name: str) -> Iterator[None]:
    """Wall and CPU seconds, the latter over all threads."""
    wall, cpu = time.monotonic(), time.process_time()
    yield
    told[f"{name}_wall_s"], told[f"{name}_cpu_s"] = time.monotonic() - wall, time.process_time() - cpu


def rss() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    verb, where, *rest = sys.argv[1:]
    work = make(Path(where), int(rest[0])) if verb == "make" else report(Path(where))
    print(json.dumps(asyncio.run(work)))
