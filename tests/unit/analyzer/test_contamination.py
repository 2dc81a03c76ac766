import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firetrial_analyzer.contamination import (
    Contamination,
    Rule,
    TaskPoint,
    Verdict,
    contamination,
)
from firetrial_analyzer.cutoffs import SCHEMA, Side, published, read, shipped, side
from firetrial_analyzer.variance import Resampling
from firetrial_kit.errors import FiretrialError

BEFORE, AFTER, UNCLEAR = Side.BEFORE, Side.AFTER, Side.UNCLEAR
FEW = Resampling(draws=999)


@pytest.fixture(scope="module")
def tables(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "firebench" / "tables.json").read_text())
    return found


def points(seed: int, effect: float, each: int, std: float = 0.15) -> list[TaskPoint]:
    """Three strata of different difficulty; most easy tasks lie before the cutoff and most others after."""
    generator, made = np.random.default_rng(seed), []
    for level, (difficulty, factor) in enumerate({"Easy": 2, "Medium": 1, "Hard": 1}.items()):
        for when, count in ((BEFORE, each * factor), (AFTER, each * (3 - factor))):
            for n in range(count):
                score = 0.7 - 0.2 * level + effect * (when is BEFORE) + std * generator.normal()
                made.append(TaskPoint(f"{difficulty}-{when}-{n}", difficulty, when, score))
    return made


def rates(effect: float, each: int, std: float = 0.15) -> list[float]:
    """How often each verdict is given, in the order of `Verdict`."""
    found = [contamination(points(seed, effect, each, std), how=FEW).verdict for seed in range(150)]
    return [found.count(verdict) / len(found) for verdict in Verdict]


def test_no_signal_where_difficulty_alone_differs() -> None:
    no_signal, signal, too_few = rates(0.0, 12)
    assert signal <= 0.06, "one in forty by chance"
    assert no_signal >= 0.9
    assert too_few == 0


def test_a_real_effect_is_found_and_two_tasks_a_cell_are_too_few_to_deny_one() -> None:
    assert rates(0.2, 12)[1] >= 0.9
    no_signal, _, too_few = rates(0.0, 2, std=0.25)
    assert no_signal <= 0.03
    assert too_few >= 0.9


def test_the_effect_is_pooled_within_strata_and_not_over_all_tasks() -> None:
    found = contamination(points(1, 0.1, 200), how=FEW)
    assert found.effect == pytest.approx(0.1, abs=0.03)
    assert found.interval is not None
    assert found.interval.low < 0.1 < found.interval.high
    assert [stratum.difficulty for stratum in found.strata] == ["Easy", "Medium", "Hard"]
    assert all(stratum.effect == pytest.approx(0.1, abs=0.06) for stratum in found.strata)


def test_better_after_the_cutoff_is_no_signal() -> None:
    found = contamination(points(2, -0.3, 12), how=FEW)
    assert found.p_value is not None
    assert found.p_value < 0.01
    assert found.verdict is Verdict.NO_SIGNAL


def test_cells_are_counted_and_a_cell_of_one_task_has_no_interval_of_its_own() -> None:
    given = [
        TaskPoint("a", "Easy", BEFORE, 0.8), TaskPoint("b", "Easy", BEFORE, 0.6),
        TaskPoint("c", "Easy", AFTER, 0.5), TaskPoint("d", "Hard", AFTER, 0.1),
        TaskPoint("e", "Odd", BEFORE, 0.9), TaskPoint("f", "Easy", UNCLEAR, 0.0),
    ]  # fmt: skip
    found = contamination(given, how=FEW)
    easy, medium, hard, odd = found.strata
    assert [easy.before.n, easy.before.mean, easy.before.std, easy.effect] == pytest.approx(
        [2, 0.7, 0.1, 0.2]
    )
    assert easy.interval is None
    assert (medium.before.n, medium.before.mean, medium.effect) == (0, None, None)
    assert (hard.after.n, hard.effect, odd.difficulty) == (1, None, "Odd")
    assert (found.unclear, found.verdict) == (1, Verdict.TOO_FEW_DATA)
    assert found.why == (
        "2 tasks before and 1 after the cutoff: 5 on each side are needed in strata that have both. "
        "For 1 tasks the side is not known."
    )
    assert found.interval is not None, "the single task varies as the others do"


def test_nothing_known_is_too_few_data_and_no_number() -> None:
    found = contamination([TaskPoint("a", "Easy", UNCLEAR, 0.5)])
    assert (found.effect, found.interval, found.p_value, found.detectable) == (None, None, None, None)
    assert found.verdict is Verdict.TOO_FEW_DATA
    assert contamination([]).verdict is Verdict.TOO_FEW_DATA


def test_the_rule_is_the_callers_and_the_order_of_tasks_means_nothing() -> None:
    given = points(3, 0.0, 4)
    strict = contamination(given, rule=Rule(relevant=0.05), how=FEW)
    mild = contamination(given[::-1], rule=Rule(relevant=0.5), how=FEW)
    assert (strict.verdict, mild.verdict) == (Verdict.TOO_FEW_DATA, Verdict.NO_SIGNAL)
    assert (strict.p_value, strict.interval) == (mild.p_value, mild.interval)


def test_sides_of_a_cutoff() -> None:
    cutoff = date(2024, 9, 30)
    assert side(published("2024-09"), cutoff) is BEFORE
    assert side(published("2024-10-01"), cutoff) is AFTER
    assert side(published("2024-09-30"), cutoff) is BEFORE
    assert side(published("2024-06"), date(2024, 6, 1)) is UNCLEAR
    assert side(None, cutoff) is side(published("2024-01"), None) is UNCLEAR
    assert [published(text) for text in ("2024-13", "2024-02-30", "24-01", "", "2024-01-00x")] == [None] * 5


@pytest.mark.needs("shared")
def test_shipped_cutoffs_are_those_that_were_published(tables: dict[str, Any]) -> None:
    known = {f"openhands_{model}": str(item.day) for model, item in shipped().items() if item.day}
    assert known == tables["table6_difficulty_by_cutoff"]["cutoffs"]


def test_cutoffs_of_ones_own_are_read_with_all_faults() -> None:
    own = {"schema": SCHEMA, "models": {"m": {"cutoff": "2025-01-31", "source": "its card"}}}
    assert read(json.dumps(own))["m"].day == date(2025, 1, 31)
    bad = {"models": {"a": {"cutoff": "2025-01", "source": ""}, "b": 3, "c": {"cutoff": None, "source": "x"}}}
    with pytest.raises(FiretrialError) as caught:
        read(json.dumps(bad))
    assert [fault.field for fault in caught.value.faults] == [
        "schema", "models.a.cutoff", "models.a.source", "models.b.cutoff", "models.b.source",
    ]  # fmt: skip
    for text in ("", "[]", '{"schema": "firetrial.cutoffs/1", "models": []}'):
        with pytest.raises(FiretrialError):
            read(text)


@pytest.mark.needs("shared")
def test_the_published_agents_by_date_and_difficulty(tables: dict[str, Any]) -> None:
    cutoffs = shipped()
    papers = {paper["id"]: paper for paper in tables["table7_14_papers"]["rows"]}

    def of(agent: str, model: str) -> Contamination:
        return contamination(
            TaskPoint(
                row["id"], papers[row["id"]]["difficulty"]["category"],
                side(published(papers[row["id"]]["arxiv_yymm"]), cutoffs[model].day),
                row["f1"][agent]["mean"] / 100,
            )
            for row in tables["table3_per_task_f1"]["rows"]
        )  # fmt: skip

    mini, gpt5 = of("openhands_o4-mini", "o4-mini"), of("openhands_gpt-5", "gpt-5")
    assert (mini.verdict, mini.unclear, gpt5.verdict) == (Verdict.NO_SIGNAL, 1, Verdict.TOO_FEW_DATA)
    assert [(s.before.n, s.after.n) for s in gpt5.strata] == [(6, 1), (7, 5), (5, 6)]
    claude = of("claude-code_sonnet-4", "claude-sonnet-4")
    assert (claude.verdict, claude.unclear) == (Verdict.TOO_FEW_DATA, 30)
