"""The broker's figures as gauges: bounded, and gone when they are old."""

from __future__ import annotations

import structlog
from prometheus_client import CollectorRegistry

from firetrial_analyzer.fleet import Fleet
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.figures import ConsumerFigures, Figures, StreamFigures, WorkFigures
from firetrial_kit.testing import ManualClock


class Watched:
    """A fleet over figures that a test sets."""

    def __init__(self) -> None:
        self.figures: Figures | None = None
        self.clock = ManualClock()
        self.registry = CollectorRegistry()
        self.fleet = Fleet(self.registry, self._look, structlog.get_logger(), self.clock.monotonic)

    async def _look(self) -> Figures:
        if self.figures is None:
            raise FiretrialError(Reason.UNAVAILABLE, "away")
        return self.figures

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"firetrial_{name}", labels)


def figures(*work: WorkFigures, **more: object) -> Figures:
    told: dict[str, object] = {"streams": (), "consumers": (), "dead": {}, "bytes": 5, "limit_bytes": None}
    return Figures(work=work, **{**told, **more})  # type: ignore[arg-type]


async def test_pools_consumers_and_streams() -> None:
    watched = Watched()
    watched.figures = figures(
        WorkFigures("run", "gpu", 3, 2, 41.5),
        WorkFigures("test", "gpu", 7, 0, 9.0),
        consumers=(
            ConsumerFigures("FT_EVT", "judge-run_finished", (), 4, 2, 1, 9),
            ConsumerFigures("FT_EVT", "parser-paper_parsed", (), 0, 0, 0, 9),
        ),
        streams=(StreamFigures("FT_EVT", 10, 1000, None), StreamFigures("FT_DEAD", 1, 50, 64)),
        dead={"judge-run_finished": 1},
        limit_bytes=100,
    )
    await watched.fleet.look()
    assert watched.value("broker_up") == 1
    assert watched.value("pool_waiting_runs", pool="gpu") == 3, "tests are no runs"
    assert watched.value("pool_delivered_runs", pool="gpu") == 2
    assert watched.value("pool_oldest_waiting_seconds", pool="gpu") == 41.5
    assert watched.value("pool_waiting_tests", pool="gpu") == 7, "and runs are no tests"
    assert watched.value("pool_delivered_tests", pool="gpu") == 0
    assert watched.value("pool_oldest_waiting_test_seconds", pool="gpu") == 9.0
    by = {"stream": "FT_EVT", "consumer": "judge-run_finished"}
    assert [watched.value(f"consumer_{name}", **by) for name in ("pending", "unsettled", "redelivered")] == [
        4, 2, 1,
    ]  # fmt: skip
    assert watched.value("stream_limit_bytes", stream="FT_EVT") is None
    assert watched.value("stream_limit_bytes", stream="FT_DEAD") == 64
    assert watched.value("dead_letters", consumer="judge-run_finished") == 1
    assert watched.value("dead_letters", consumer="parser-paper_parsed") == 0, (
        "or its first letter is not seen"
    )
    assert (watched.value("broker_storage_bytes"), watched.value("broker_storage_limit_bytes")) == (5, 100)


async def test_what_is_old_or_unknown_is_not_told() -> None:
    watched = Watched()
    assert watched.value("broker_up") == 0, "nothing was seen yet"
    watched.figures = figures(WorkFigures("run", "gpu", 3, 2, 1.0))
    await watched.fleet.look()
    watched.clock.advance(29)
    assert watched.value("pool_waiting_runs", pool="gpu") == 3
    watched.clock.advance(2)
    assert (watched.value("broker_up"), watched.value("pool_waiting_runs", pool="gpu")) == (0, None)
    await watched.fleet.look()
    assert watched.value("broker_up") == 1
    watched.figures = None
    await watched.fleet.look()
    assert (watched.value("broker_up"), watched.value("pool_waiting_runs", pool="gpu")) == (0, None)


async def test_ten_thousand_pools_are_a_hundred_and_the_sum_of_the_others() -> None:
    watched = Watched()
    watched.figures = figures(*(WorkFigures("run", f"p-{n}", 1, 0, float(n)) for n in range(10_000)))
    await watched.fleet.look()
    (waiting,) = (one for one in watched.registry.collect() if one.name == "firetrial_pool_waiting_runs")
    assert len(waiting.samples) == 101
    assert watched.value("pool_waiting_runs", pool="other") == 9_900
    assert watched.value("pool_oldest_waiting_seconds", pool="other") == 9_999
