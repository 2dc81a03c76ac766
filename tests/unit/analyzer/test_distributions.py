"""Shares of errors with their intervals, against counts by hand and the published table."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.attribution import RUN, Attribution, Missed
from firetrial_analyzer.distributions import (
    ErrorCounts,
    Errors,
    Spread,
    distributions,
    effective_number,
    error_counts,
    errors_of,
    spread,
    wilson,
)
from firetrial_analyzer.false_claims import FalsePositive
from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.taxonomy.catalogue import FalsePositiveKind, load

TAXONOMY = load()
TYPES = [leaf.id for leaf in TAXONOMY.error_types]


def errors(rows: list[tuple[int, int, list[int]]], agents: int = 1) -> Errors:
    """(agent, task, counts) of each run; two categories stand for the kinds."""
    agent, task, counts = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    none = np.zeros(len(rows), dtype=np.int64)
    types = np.zeros((len(rows), len(TYPES)), dtype=np.int64)
    return Errors(tuple(f"agent{n}" for n in range(agents)), agent, task, types, none, counts)


def over(found: Errors, width: int = 2) -> Spread:
    return spread(found, [f"c{n}" for n in range(width)], found.kinds, found.unsettled)


def test_a_run_is_counted_by_type_and_kind_and_a_failure_as_one() -> None:
    false = FalsePositive("a1", FalsePositiveKind.UNRELATED, "", "")
    found = Attribution(
        "r",
        (Missed("t1", "EXECUTION", "LAZINESS"), Missed("t2"), Missed(RUN, "SYSTEM", "TIMEOUT")),
        (false, false),
    )
    counts = error_counts(found, TAXONOMY)
    assert counts == ErrorCounts(tuple(int(id_ in ("LAZINESS", "TIMEOUT")) for id_ in TYPES), 1, (0, 2, 0, 0))


def test_stages_are_the_sums_of_their_types() -> None:
    found = errors([(0, 0, [0, 0])])
    found.types[0, TYPES.index("LAZINESS")] = 3
    found.types[0, TYPES.index("ENDLESS_LOOP")] = 1
    (stages,) = distributions(found, TAXONOMY).stages.agents
    assert {share.id: share.count for share in stages.shares if share.count} == {"EXECUTION": 4}
    assert (stages.total, stages.runs, stages.tasks) == (4, 1, 1)


def test_the_runs_that_were_attributed_become_columns() -> None:
    def run(agent: str, task: str, *missed: Missed) -> AnalysedRun:
        outcome = RunOutcome(f"r-{agent}{task}", "e", task, agent, 1, 1, Outcome.AGENT_FAILED)
        return AnalysedRun(outcome, attribution=Attribution(outcome.run_id, missed) if missed else None)

    timed_out = Missed(RUN, "SYSTEM", "TIMEOUT")
    items = [
        run("b", "t1", timed_out),
        run("a", "t2", Missed(RUN)),
        run("c", "t1"),
        run("b", "t2", timed_out),
    ]
    found = distributions(errors_of(items, TAXONOMY), TAXONOMY).types
    assert [(one.agent, one.total, one.unsettled, one.runs, one.tasks) for one in found.agents] == [
        ("a", 0, 1, 1, 1), ("b", 2, 0, 2, 2)
    ]  # fmt: skip
    assert distributions(errors_of([], TAXONOMY), TAXONOMY).types == Spread((), ())


def test_no_error_has_no_share() -> None:
    (only,) = over(errors([(0, 0, [0, 0])])).agents
    assert [(share.count, share.share, share.interval) for share in only.shares] == [(0, None, None)] * 2


def test_wilson_against_a_textbook() -> None:
    # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I.
    for share, n, low, high in [
        (81 / 263, 263, 0.2553, 0.3662),
        (0.0, 20, 0.0, 0.1611),
        (1 / 29, 29, 0.0061, 0.1718),
    ]:
        found = wilson(share, n)
        assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)


def test_errors_of_one_task_are_worth_less_than_errors_of_many() -> None:
    alike = np.array([[6, 0], [0, 6], [6, 0], [0, 6]])
    mixed = np.array([[3, 3]] * 4)
    assert effective_number(alike) < 4
    assert effective_number(mixed) == 24
    assert effective_number(np.array([[5, 0]])) == 1, "one task tells of one task"
    assert effective_number(np.array([[5, 0], [7, 0], [0, 0]])) == 2


def test_agents_that_differ_on_every_task_are_told_apart_and_others_are_not() -> None:
    rows = [(0, task, [4, 1]) for task in range(12)] + [(1, task, [1, 4]) for task in range(12)]
    first, second = over(errors(rows, 2)).differences
    assert first.difference == pytest.approx(0.6)
    assert first.p_value == pytest.approx(2 / 2**12)
    assert first.p_adjusted == pytest.approx(4 / 2**12), "Holm over two categories"
    assert second.p_value == first.p_value
    same = [(agent, task, [task % 3, 1]) for agent in (0, 1) for task in range(20)]
    assert all(item.p_value == 1 for item in over(errors(same, 2)).differences)


def test_tasks_that_only_one_agent_has_say_nothing() -> None:
    rows = [(0, 0, [1, 0]), (1, 0, [0, 1]), (0, 1, [1, 0])]
    found = over(errors(rows, 2)).differences
    assert [(item.tasks, item.p_value, item.p_adjusted) for item in found] == [(1, None, None)] * 2


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.lists(st.integers(0, 4), min_size=2, max_size=2)),
    min_size=1,
    max_size=25,
)


@given(ROWS, st.randoms())
def test_shares_sum_to_one_lie_in_their_intervals_and_know_no_order(
    rows: list[tuple[int, int, list[int]]], random: object
) -> None:
    found = over(errors(rows, 3))
    for one in found.agents:
        if one.total:
            assert sum(share.share or 0 for share in one.shares) == pytest.approx(1)
        for share in one.shares:
            if share.interval is not None and share.share is not None:
                low, high = share.interval.low, share.interval.high
                assert 0 <= low <= share.share + 1e-12
                assert share.share - 1e-12 <= high <= 1
    for item in found.differences:
        assert item.p_value is None or 0 < item.p_value <= (item.p_adjusted or 0) <= 1
    shuffled = rows[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert over(errors(shuffled, 3)) == found


def test_100_000_runs_take_less_than_a_second() -> None:
    random = np.random.default_rng(1)
    n = 100_000
    made = Errors(
        tuple(f"a{n}" for n in range(8)),
        random.integers(0, 8, n),
        random.integers(0, 200, n),
        random.integers(0, 2, (n, len(TYPES))),
        random.integers(0, 2, n),
        random.integers(0, 2, (n, 4)),
    )
    began = time.process_time()
    found = distributions(made, TAXONOMY)
    assert time.process_time() - began < 1
    assert sum(one.runs for one in found.types.agents) == n


@pytest.mark.needs("shared")
def test_the_published_distributions_follow_from_whole_counts(shared: Path) -> None:
    """FIRE-Bench prints percentages only; the least counts that give them do so to the printed digit."""
    tables = json.loads((shared / "firebench" / "tables.json").read_text())
    kinds = tables["table5_false_positive_types"]
    for agent, printed in kinds["rows"].items():
        counts = kinds["smallest_counts_reproducing_percentages"][agent][0]["counts"]
        made = errors([(0, 0, list(counts.values()))])
        (found,) = distributions(made, TAXONOMY).kinds.agents
        shown = {share.id.lower(): round(100 * (share.share or 0), 1) for share in found.shares}
        assert shown == printed, agent


@pytest.mark.needs("shared")
def test_the_published_stage_totals_are_means_over_the_agents_types(shared: Path) -> None:
    tables = json.loads((shared / "firebench" / "tables.json").read_text())
    figure = tables["fig_error_distribution_false_negative"]
    printed = (
        "method_deviation",
        "analysis_failure",
        "goal_deviation",
        "environment_setup",
        "premature_termination",
    )
    by_stage: dict[str, list[float]] = {"RESEARCH_PLANNING": [], "ANALYSIS": []}
    for agent, row in figure["rows"].items():
        least = figure["smallest_n_reproducing_printed_percentages"][agent][0]
        made = errors([(0, 0, [0, 0])])
        shown = [name for name in printed if row[name] is not None]
        for name, count in zip(shown, least["counts"], strict=True):
            made.types[0, TYPES.index(name.upper())] = count
        made.types[0, TYPES.index("OTHER")] = least["n"] - sum(least["counts"])  # slices too small to print
        found = distributions(made, TAXONOMY)
        shares = {share.id: 100 * (share.share or 0) for share in found.types.agents[0].shares}
        assert {name: round(shares[name.upper()], 1) for name in shown} == {name: row[name] for name in shown}
        for share in found.stages.agents[0].shares:
            by_stage.setdefault(share.id, []).append(100 * (share.share or 0))
    totals = figure["stage_totals_on_site"]
    assert fmean(by_stage["RESEARCH_PLANNING"]) == pytest.approx(totals["planning"], abs=0.1)
    assert fmean(by_stage["ANALYSIS"]) == pytest.approx(totals["analysis"], abs=0.1)
