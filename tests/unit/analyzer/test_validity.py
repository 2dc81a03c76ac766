"""Valid submissions over runs: the mean of V beside its coverage, and how the conditions held."""

from __future__ import annotations

import polars as pl
import pytest

from firetrial_analyzer.columns import COLUMNS
from firetrial_analyzer.kinds.validity import Held, validities


def ended(*rows: tuple[str, str, float | None, float | None, float | None, float | None]) -> pl.DataFrame:
    names = ("agent", "outcome", "score", "c1_p", "c2_p", "c3_p")
    told = [{**dict(zip(names, row, strict=True)), "measure": "validity"} for row in rows]
    schema = {name: COLUMNS[name] for name in (*names, "measure")}
    return pl.DataFrame(told, schema=schema)


def test_the_mean_of_v_stands_beside_its_coverage() -> None:
    """Failed by its agent counts as 0; failed by judge or infrastructure does not count."""
    (found,) = validities(ended(
        ("a", "SCORED", 1.0, 1.0, 1.0, 1.0),
        ("a", "SCORED", 0.0, 0.9, 1.0, 1.0),
        ("a", "SCORED", 0.0, 8 / 9, 1.0, None),
        ("a", "AGENT_FAILED", None, None, None, None),
        ("a", "JUDGE_FAILED", None, None, None, None),
    ))  # fmt: skip
    assert (found.runs, found.counted, found.valid, found.mean) == (5, 4, 1, 0.25)
    integrity, _, sufficiency = found.conditions
    assert (integrity.strict, integrity.almost, integrity.known) == (1, 2, 3)
    assert integrity.p == pytest.approx((1 + 0.9 + 8 / 9) / 3)
    assert sufficiency == Held("C3", 2, 1.0, 2, 2)


def test_an_agent_whose_runs_do_not_count_has_no_mean() -> None:
    (found,) = validities(ended(("a", "INFRA_FAILED", None, None, None, None)))
    assert found.mean is None
    assert found.conditions[0] == Held("C1", 0, None, 0, 0)


def test_runs_of_other_kinds_are_no_submissions() -> None:
    rows = ended(("a", "SCORED", 1.0, 1.0, 1.0, 1.0)).with_columns(measure=pl.lit("f1"))
    assert validities(rows) == ()
