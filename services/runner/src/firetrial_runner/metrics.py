"""What the runner counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from firetrial_runner.run import Run

_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600)


class RunnerMetrics:
    """By pool: runs by outcome, their duration and wait, and slots."""

    def __init__(self, registry: CollectorRegistry, pool: str, slots: int) -> None:
        self._pool = pool
        self._runs = Counter(
            "firetrial_runs_total",
            "Runs whose agent is over, by outcome (concluded: the judge decides).",
            ["pool", "outcome"],
            registry=registry,
        )
        self._seconds = Histogram(
            "firetrial_run_seconds",
            "Wall time of agents' processes.",
            ["pool"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._wait = Histogram(
            "firetrial_run_queue_seconds",
            "From a run's request to its start.",
            ["pool"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._slots = Gauge("firetrial_runner_slots", "Runs at a time.", ["pool"], registry=registry)
        self._busy = Gauge("firetrial_runner_slots_busy", "Runs now.", ["pool"], registry=registry)
        self.reaped = Counter(
            "firetrial_runner_reaped_total", "Things removed that dead runners left.", registry=registry
        )
        self._slots.labels(pool).set(slots)
        self._busy.labels(pool).set(0)

    @contextmanager
    def busy(self, run: Run, now: datetime) -> Iterator[None]:
        """A slot is taken while inside."""
        self._wait.labels(self._pool).observe(max(0.0, (now - run.queued_at).total_seconds()))
        with self._busy.labels(self._pool).track_inprogress():
            yield

    def over(self, run: Run) -> None:
        """An agent's part is over."""
        self._runs.labels(run.pool, str(run.outcome or run.state)).inc()
        if run.usage:
            self._seconds.labels(run.pool).observe(run.usage.wall_s)
