"""What FIRE-Bench printed, rebuilt from its per-task table, and by name what does not follow from it."""

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial_analyzer.published import (
    FALSE_POSITIVES,
    Figure,
    figures,
    results,
    smallest_counts,
    tasks_where,
    unfounded,
)

pytestmark = pytest.mark.needs("shared")

AGENTS = ("openhands_o4-mini", "openhands_gpt-5", "codex_gpt-5-medium", "claude-code_sonnet-4")


@pytest.fixture(scope="module")
def tables(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "firebench" / "tables.json").read_text())
    return found


def test_mean_f1_and_both_kinds_of_std_of_all_four_agents(tables: dict[str, Any]) -> None:
    found, expected = results(tables), tables["checks"]["overall_std_definition"]["values"]
    assert tuple(found) == AGENTS
    for agent, result in found.items():
        values = expected[agent]
        assert result.mean == pytest.approx(values["recomputed_mean"], abs=5e-4)
        assert result.population_std == pytest.approx(values["pop_std_over_30"], abs=5e-4)
        assert result.sample_std == pytest.approx(values["sample_std_over_30"], abs=5e-4)


def test_best_of_counts_and_tasks_that_all_agents_do_or_fail(tables: dict[str, Any]) -> None:
    checks = tables["checks"]
    assert {agent: r.best_of for agent, r in results(tables).items()} == checks["best_of_task"]["recomputed"]
    assert tasks_where(tables, lambda mean: mean >= 50) == checks["all_four_ge_50"]["ids"]
    assert tasks_where(tables, lambda mean: mean < 20) == []


def test_median_cvs_with_and_without_tasks_of_mean_zero(tables: dict[str, Any]) -> None:
    for agent, result in results(tables).items():
        expected = tables["checks"]["cv"][agent]
        assert result.cv.median == pytest.approx(expected["median_cv_excluding_zero_mean_tasks"], abs=5e-4)
        with_zeros = expected["median_cv_zero_mean_counted_as_0"]
        assert result.cv.median_with_zeros == pytest.approx(with_zeros, abs=5e-4)
        assert result.cv.zero_mean == expected["tasks_with_zero_mean"]


def test_false_positive_percentages_are_shares_of_these_counts(tables: dict[str, Any]) -> None:
    table = tables["table5_false_positive_types"]
    for agent, row in table["rows"].items():
        found = smallest_counts([row[kind] for kind in FALSE_POSITIVES])
        expected = table["smallest_counts_reproducing_percentages"][agent][0]
        assert found == (expected["n"], tuple(expected["counts"][kind] for kind in FALSE_POSITIVES))
    assert smallest_counts([33.3, 33.3, 33.3]) == (3, (1, 1, 1))
    assert smallest_counts([50.0, 30.0]) == (10, (5, 3)), "two in ten were not printed"
    assert smallest_counts([99.5, 99.5]) is None


def test_error_stage_percentages_are_shares_of_these_counts(tables: dict[str, Any]) -> None:
    table = tables["fig_error_distribution_false_negative"]
    for agent, row in table["rows"].items():
        shares = [share for kind, share in row.items() if share is not None and kind != "other_remainder"]
        expected = table["smallest_n_reproducing_printed_percentages"][agent][0]
        assert smallest_counts(shares) == (expected["n"], tuple(expected["counts"]))


def test_the_printed_figures_that_do_not_follow(tables: dict[str, Any]) -> None:
    found = figures(tables)
    cells = {
        f"{cell['agent']} {cell['difficulty']} {cell['side']}"
        for cell in tables["checks"]["cutoff_reconstruction"]
        if not cell["matches_within_rounding"]
    }
    named = unfounded(found)
    in_cells = [name.removeprefix("cutoff cell ") for name in named if name.startswith("cutoff cell ")]
    assert {name.rsplit(",", 1)[0] for name in in_cells} == cells
    assert len(cells) == 8
    assert [name for name in named if not name.startswith("cutoff cell ")] == [
        *(f"overall F1 of {agent} as that of its mean precision and recall" for agent in AGENTS[:3]),
        "overall std of claude-code_sonnet-4, sample",
        "average row's std of claude-code_sonnet-4, population",
        "overall F1 of claude-code_sonnet-4 as that of its mean precision and recall",
        "gain of openhands_gpt-5 over openhands_o4-mini, from the overall table",
        "tasks in which claude-code_sonnet-4 is best",
        "tasks in which openhands_gpt-5 is best",
        "claude-code_sonnet-4 has the lowest median CV",
        "Medium tasks in the cutoff cells of openhands_o4-mini",
        "Hard tasks in the cutoff cells of openhands_o4-mini",
        "Medium tasks in the cutoff cells of openhands_gpt-5",
        "Hard tasks in the cutoff cells of openhands_gpt-5",
        *(f"tasks that the costs of {agent} are for" for agent in AGENTS),
        "F1 of the evaluator against people",
    ]


def test_what_the_costs_are_for_instead(tables: dict[str, Any]) -> None:
    for figure in figures(tables):
        if figure.name.startswith("tasks that the costs"):
            assert abs(figure.rebuilt - 15) <= figure.tolerance


def test_rounding_is_allowed_for() -> None:
    assert Figure("x", 31.9, 31.8).follows
    assert not Figure("x", 31.9, 31.79).follows
    assert not Figure("x", 13, 12, 0).follows
