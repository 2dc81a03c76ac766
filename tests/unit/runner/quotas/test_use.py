from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.tokens import Quotas
from firetrial_runner.quotas.use import OverQuotaError, Place, Use, at_once

NOW = datetime(2026, 7, 31, 23, 59, tzinfo=UTC)


def asked(use: Use, what: str, runs: int, most: int, now: datetime = NOW) -> Use:
    return use.asking(what, runs, now, most) or use


def test_a_days_runs_end_at_the_quota_and_begin_at_midnight() -> None:
    use = asked(asked(Use(), "a", 6, 10), "b", 4, 10)
    with pytest.raises(OverQuotaError) as caught:
        asked(use, "c", 1, 10)
    assert (caught.value.quota, caught.value.most, caught.value.used, caught.value.asked) == (
        "runs_per_day", 10, 10, 1,
    )  # fmt: skip
    tomorrow = asked(use, "c", 10, 10, NOW + timedelta(minutes=1))
    assert (tomorrow.day, tomorrow.runs) == ("2026-08-01", 10)


def test_clocks_that_differ_at_midnight_count_no_day_twice() -> None:
    after = NOW + timedelta(minutes=2)
    use = asked(asked(Use(), "a", 6, 10, after), "b", 4, 10)
    with pytest.raises(OverQuotaError):
        asked(use, "c", 1, 10, after)
    long_before = NOW - timedelta(days=2)
    assert asked(use, "c", 10, 10, long_before).runs == 10


def test_what_asks_again_counts_once() -> None:
    use = asked(Use(), "a", 6, 10)
    assert use.asking("a", 6, NOW, 10) is None


def test_a_day_of_very_many_askings_stays_small_and_forgets_no_run() -> None:
    use = Use()
    for number in range(4_100):
        use = asked(use, str(number), 1, 5_000)
    assert use.runs == 4_100
    assert len(use.asked) == 4_000


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3), st.booleans()), max_size=60))
def test_no_order_of_starts_and_ends_passes_a_quota(steps: list[tuple[str, int, bool]]) -> None:
    use, quotas = Use(), Quotas(runs_at_once=3, gpus_at_once=4)
    for run_id, gpus, begins in steps:
        try:
            changed = use.placing(run_id, gpus, NOW, quotas) if begins else use.without([run_id])
        except OverQuotaError:
            continue
        use = changed or use
        assert len(use.places) <= 3
        assert sum(place.gpus for place in use.places.values()) <= 4


def test_a_run_without_gpus_needs_none() -> None:
    use = Use(places={"r-1": Place(4, NOW)})
    assert use.placing("r-2", 0, NOW, Quotas(gpus_at_once=4)) is not None
    with pytest.raises(OverQuotaError):
        use.placing("r-3", 1, NOW, Quotas(gpus_at_once=4))


def test_how_many_of_one_kind_run_at_the_same_time() -> None:
    assert at_once(Quotas(), 2) == (None, "")
    assert at_once(Quotas(runs_at_once=3, gpus_at_once=4), 0)[0] == 3
    most, told = at_once(Quotas(runs_at_once=3, gpus_at_once=4), 2)
    assert (most, told) == (2, "its tenant's turn: the tenant's runs have at most 4 GPUs at the same time")
