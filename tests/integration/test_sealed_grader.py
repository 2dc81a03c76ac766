"""Attempts on the grader of repository tasks: none is measured better than it is, and each is a finding.

In short, all of one task are steps of one run, whose best is tested. FIRETRIAL_BENCH=full makes each a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import repositories
from support.bench import Bench, bench
from support.sealed_grader import CATALOGUE, PREPARED, Attempt

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]
FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
LIMITS = {"step_time": "20s", "max_steps": 60}


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path / "work") as made:
        yield made


def of(apart: bool) -> list[Attempt]:
    return [attempt for attempt in CATALOGUE if attempt.apart in {None, apart}]


def test_the_catalogue_is_a_catalogue() -> None:
    names = [attempt.name for attempt in CATALOGUE]
    assert len(names) == len(set(names)) >= 25
    assert min(len(of(True)), len(of(False))) >= 20


@pytest.mark.parametrize("apart", [True, False])
async def test_none_raises_the_score_and_each_is_a_finding(found: Bench, apart: bool) -> None:
    attempts = of(apart)
    agent = PREPARED + "".join(attempt.code for attempt in attempts)
    judgement = await found.judged(agent, repositories.made(apart=apart, **LIMITS), wall_s=400)
    said = await found.said(await found.runner.run(judgement.run_id))
    assert "GOT IN" not in said
    steps = await found.steps(judgement.run_id)
    assert len(steps) == len(attempts), said
    told = {finding.partition(":")[0] for finding in judgement.sealed.findings}
    for attempt, step in zip(attempts, steps, strict=True):
        assert step.get("findings"), attempt.name
        assert f"step {step['step']}" in told, attempt.name
        reads_what_it_may_see = attempt.name == "read labels"
        assert reads_what_it_may_see or step.get("metric", 4.0) >= 4.0, attempt.name
    assert judgement.scores.score == 0.0
    assert "tampering" in judgement.flags


@pytest.mark.skipif(not FULL, reason="FIRETRIAL_BENCH=full makes a run of each")
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("attempt", CATALOGUE, ids=lambda attempt: attempt.name)
async def test_none_raises_the_score_alone(found: Bench, attempt: Attempt, apart: bool) -> None:
    if attempt.apart not in {None, apart}:
        pytest.skip("it is of the other task")
    judgement = await found.judged(PREPARED + attempt.code, repositories.made(apart=apart, **LIMITS))
    assert judgement.scores.score == 0.0
    assert judgement.sealed.findings, attempt.name
