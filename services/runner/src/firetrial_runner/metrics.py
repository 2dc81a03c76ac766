"""What the runner counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from firetrial_runner.gateway.exchange import Exchange
from firetrial_runner.gpus.device import Gpu
from firetrial_runner.gpus.inventory import Reading
from firetrial_runner.run import Run

_CALL_SECONDS = (0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
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
        self.gpus = GpuMetrics(registry, pool)
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
        if run.usage and run.usage.wall_s is not None:
            self._seconds.labels(run.pool).observe(run.usage.wall_s)


class GatewayMetrics:
    """Exchanges with models, by upstream and by the entry of its list that allows the model."""

    def __init__(self, registry: CollectorRegistry) -> None:
        by = ["upstream", "model"]

        def counter(name: str, told: str, labels: list[str]) -> Counter:
            return Counter(f"firetrial_gateway_{name}", told, labels, registry=registry)

        self._requests = counter("requests_total", "Calls, by what agents got; 0: nothing.", [*by, "status"])
        self._tokens = counter("tokens_total", "Tokens, cached ones among the prompt's.", [*by, "kind"])
        self._usd = counter("cost_usd_total", "Cost of calls whose price is known.", by)
        self._unpriced = counter("unpriced_total", "Answered calls whose price is unknown.", by)
        self._retries = counter("retries_total", "Requests made again.", by)
        self._refusals = counter("refusals_total", "Calls that were not passed on, by reason.", ["reason"])
        self._seconds = Histogram(
            "firetrial_gateway_request_seconds",
            "From a call's budget to the end of its answer.",
            by,
            buckets=_CALL_SECONDS,
            registry=registry,
        )

    def exchanged(self, upstream: str, model: str, exchange: Exchange) -> None:
        """A call was passed on, and has ended."""
        self._requests.labels(upstream, model, str(exchange.status)).inc()
        self._seconds.labels(upstream, model).observe(exchange.latency_s)
        self._retries.labels(upstream, model).inc(max(0, exchange.attempts - 1))
        if exchange.tokens is not None:
            for kind in ("prompt", "completion", "cached"):
                self._tokens.labels(upstream, model, kind).inc(getattr(exchange.tokens, kind))
        if exchange.cost_usd is not None:
            self._usd.labels(upstream, model).inc(exchange.cost_usd)
        elif 200 <= exchange.status < 300:
            self._unpriced.labels(upstream, model).inc()

    def refused(self, reason: str) -> None:
        self._refusals.labels(reason).inc()


class GpuMetrics:
    """The GPUs that runs may be given, by device; of one that is lost, no sample."""

    def __init__(self, registry: CollectorRegistry, pool: str) -> None:
        by = ["pool", "index", "uuid", "model"]

        def gauge(name: str, told: str, labels: list[str]) -> Gauge:
            return Gauge(f"firetrial_gpu_{name}", told, labels, registry=registry)

        self._pool = pool
        self._count = gauge("devices", "Devices that runs may be given.", ["pool"])
        self._utilisation = gauge("utilisation_ratio", "Share of the time in which it computes.", by)
        self._used = gauge("memory_used_bytes", "Memory in use.", by)
        self._total = gauge("memory_bytes", "Memory that it has.", by)

    def see(self, readings: Mapping[Gpu, Reading]) -> None:
        """Tell what was read."""
        self._count.labels(self._pool).set(len(readings))
        for gauge in (self._utilisation, self._used, self._total):
            gauge.clear()
        for gpu, reading in readings.items():
            by = (self._pool, str(gpu.index), gpu.uuid, gpu.model)
            self._total.labels(*by).set(gpu.memory_bytes)
            if reading.utilisation is not None:
                self._utilisation.labels(*by).set(reading.utilisation)
            if reading.memory_bytes is not None:
                self._used.labels(*by).set(reading.memory_bytes)
