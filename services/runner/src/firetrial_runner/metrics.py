"""What the runner counts. docs/metrics.md has the table of all of it; no label grows with runs or hosts."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from firetrial_kit.labels import Bounded
from firetrial_runner.census import Census
from firetrial_runner.egress.contacts import Visit
from firetrial_runner.gateway.exchange import Exchange
from firetrial_runner.gpus.device import GIB, Gpu
from firetrial_runner.gpus.inventory import Reading
from firetrial_runner.run import Run, RunUsage
from firetrial_runner.sandbox.port import Termination
from firetrial_runner.trajectory import Step

_CALL_SECONDS = (0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
_HOUR, _DAY = 3600, 24 * 3600
_SECONDS = (1, 5, 15, 60, 300, 900, 1800, _HOUR, 2 * _HOUR, 4 * _HOUR, 8 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY)
_STORE_SECONDS = (0.05, 0.25, 1, 2.5, 10, 30, 120, 600, _HOUR)
_START_SECONDS = (0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900, _HOUR)
_KIND_SECONDS = (0.5, 2, 5, 15, 60, 300, 900, _HOUR, 4 * _HOUR, _DAY)
_SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
_GPU_BYTES = tuple(size * GIB for size in (1, 4, 8, 16, 24, 40, 80, 160, 320, 640))


@dataclass(frozen=True, slots=True)
class _Make:
    """Makes metrics whose names begin alike."""

    registry: CollectorRegistry
    prefix: str

    def counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(self.prefix + name, told, labels, registry=self.registry)

    def gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(self.prefix + name, told, labels, registry=self.registry)

    def histogram(self, name: str, told: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(self.prefix + name, told, labels, registry=self.registry, buckets=buckets)


class RunnerMetrics:
    """By pool: runs by outcome, their duration and wait, slots, and what dead runners left."""

    def __init__(self, registry: CollectorRegistry, pool: str, slots: int, tests: int = 0) -> None:
        self._pool = pool
        make = _Make(registry, "firetrial_")
        told = "Runs whose agent is over, by outcome (concluded: the judge decides)."
        self._runs = make.counter("runs_total", told, "pool", "outcome")
        told = "Wall time of agents' processes."
        self._seconds = make.histogram("run_seconds", told, "pool", buckets=_SECONDS)
        told = "From the end of an agent's process to all that it left being stored."
        self._storing = make.histogram("run_store_seconds", told, "pool", buckets=_STORE_SECONDS)
        told = "From a run's request to its start."
        self._wait = make.histogram("run_queue_seconds", told, "pool", buckets=_SECONDS)
        self._slots = make.gauge("runner_slots", "Runs at a time.", "pool")
        self._busy = make.gauge("runner_slots_busy", "Runs now.", "pool")
        self._tests = make.gauge("runner_tests", "Sealed tests at a time.", "pool")
        told = "Things removed that dead runners left, by kind: process, container, cgroup, folder."
        self._reaped = make.counter("runner_reaped_total", told, "kind")
        told = "Times that a tenant's quota had no room: runs refused, or made to wait."
        self._quotas = make.counter("quota_refusals_total", told, "tenant", "quota")
        self.census, self.kinds = CensusMetrics(registry), KindMetrics(registry)
        self.sandbox, self.trajectories = SandboxMetrics(registry), TrajectoryMetrics(registry)
        self.egress, self.gpus = EgressMetrics(registry), GpuMetrics(registry, pool)
        if slots:  # one without is none of the pool's runners
            self._slots.labels(pool).set(slots)
            self._busy.labels(pool).set(0)
        if tests:
            self._tests.labels(pool).set(tests)
        self._running = 0

    @contextmanager
    def busy(self, run: Run, now: datetime) -> Iterator[None]:
        """A slot is taken while inside."""
        self._wait.labels(self._pool).observe(max(0.0, (now - run.queued_at).total_seconds()))
        self._running += 1
        try:
            with self._busy.labels(self._pool).track_inprogress():
                yield
        finally:
            self._running -= 1

    def quota_refused(self, tenant: str, quota: str) -> None:
        """A tenant's quota had no room."""
        self._quotas.labels(tenant, quota).inc()

    def running(self) -> int:
        """Slots that are taken now."""
        return self._running

    def storing(self) -> AbstractContextManager[object]:
        """What an agent left is being stored while inside."""
        return self._storing.labels(self._pool).time()

    def over(self, run: Run) -> None:
        """An agent's part is over."""
        self._runs.labels(run.pool, str(run.outcome or run.state)).inc()
        if run.usage:
            self.gpus.used(run.usage)
        if run.usage and run.usage.wall_s is not None:
            self._seconds.labels(run.pool).observe(run.usage.wall_s)

    def sandboxes(self, sandbox: str, *, alive: int, leaked: int) -> None:
        """How many there are on this machine, of this runner and of dead ones."""
        self.census.sandboxes(self._pool, sandbox, alive=alive, leaked=leaked)

    def reaped(self, what: str) -> None:
        """Something was removed: its kind, and perhaps its name."""
        self._reaped.labels(what.partition(" ")[0]).inc()


class CensusMetrics:
    """All runs that have not ended, as every runner sees them once a minute, and this one's sandboxes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Make(registry, "firetrial_")
        self._pools = Bounded()
        told = "Runs that have not ended, by state: queued, running, or concluded (the judge decides)."
        self._runs = make.gauge("open_runs", told, "pool", "state")
        told = "What experiments with a cap and with runs that have not ended may cost together."
        self._budget = make.gauge("experiment_budget_usd", told)
        told = "What experiments with a cap and with runs that have not ended have cost together."
        self._spent = make.gauge("experiment_spent_usd", told)
        told = "Sandboxes of this runner, at its last look."
        self._alive = make.gauge("sandboxes_alive", told, "pool", "sandbox")
        told = "Sandboxes of dead runners of this machine that the last look could not remove."
        self._leaked = make.gauge("sandboxes_leaked", told, "pool", "sandbox")

    def see(self, found: Census) -> None:
        """Tell what was counted."""
        shown: Counts[tuple[str, str]] = Counts()
        for (pool, state), count in found.runs.items():
            shown[self._pools.of(pool)[0], state] += count
        self._runs.clear()
        for labels, count in shown.items():
            self._runs.labels(*labels).set(count)
        self._budget.set(found.budget_usd)
        self._spent.set(found.spent_usd)

    def sandboxes(self, pool: str, sandbox: str, *, alive: int, leaked: int) -> None:
        """Tell how many there are."""
        self._alive.labels(pool, sandbox).set(alive)
        self._leaked.labels(pool, sandbox).set(leaked)


class KindMetrics:
    """Steps of repository runs, and sealed tests."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Make(registry, "firetrial_")
        told = "Steps of repository runs by state: valid, failed, void, or lost by our own fault."
        self._steps = make.counter("repository_steps_total", told, "state")
        told = "Time of one step, from its hand-in to its answer."
        self._step = make.histogram("repository_step_seconds", told, buckets=_KIND_SECONDS)
        told = "Sealed tests that are over, by result: measured, failed, infra_failed."
        self._tests = make.counter("sealed_tests_total", told, "result")
        told = "Time of one sealed test."
        self._test = make.histogram("sealed_test_seconds", told, buckets=_KIND_SECONDS)

    def stepped(self, state: str, seconds: float) -> None:
        self._steps.labels(state).inc()
        self._step.observe(seconds)

    def tested(self, result: str, seconds: float | None) -> None:
        """A test has ended; seconds are None for one that was not run."""
        self._tests.labels(result).inc()
        if seconds is not None:
            self._test.observe(seconds)


class SandboxMetrics:
    """By the sandbox's name: how long commands take to start, and how they end."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Make(registry, "firetrial_sandbox_")
        told = "From a command's request to its start."
        self._start = make.histogram("start_seconds", told, "sandbox", buckets=_START_SECONDS)
        self._failed = make.counter("start_failures_total", "Commands that could not be started.", "sandbox")
        told = "Commands that were started, by how they ended."
        self._ended = make.counter("terminations_total", told, "sandbox", "termination")

    @contextmanager
    def starting(self, sandbox: str) -> Iterator[None]:
        """A command is being started while inside."""
        with self._failed.labels(sandbox).count_exceptions(), self._start.labels(sandbox).time():
            yield

    def ended(self, sandbox: str, how: Termination) -> None:
        self._ended.labels(sandbox, str(how)).inc()


class TrajectoryMetrics:
    """Steps as they are recorded, and chunks as they are stored."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Make(registry, "firetrial_trajectory_")
        self._steps = make.counter("steps_total", "Steps recorded.", "kind")
        self._chunks = make.counter("chunks_total", "Chunks stored.")
        self._bytes = make.counter("stored_bytes_total", "Size of stored chunks, compressed.")

    def step(self, step: Step) -> None:
        self._steps.labels(str(step.kind)).inc()

    def stored(self, chunk: bytes) -> None:
        self._chunks.inc()
        self._bytes.inc(len(chunk))


class EgressMetrics:
    """Contacts outside by the policy's reach and by what came of them, and floods that were turned away."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Make(registry, "firetrial_egress_")
        told = "Connections to hosts outside: allowed, failed, refused, or denied by a rule for the host."
        self._contacts = make.counter("contacts_total", told, "policy", "decision")
        told = "Size of what passed, sent by runs or received by them."
        self._bytes = make.counter("bytes_total", told, "policy", "decision", "direction")
        told = "Connections turned away for being too many, by reason: at_once, rate."
        self._turned_away = make.counter("turned_away_total", told, "reason")

    def visited(self, policy: str, visit: Visit) -> None:
        """A connection is over."""
        by = (policy, visit.decision)
        self._contacts.labels(*by).inc()
        self._bytes.labels(*by, "sent").inc(visit.sent)
        self._bytes.labels(*by, "received").inc(visit.received)

    def turned_away(self, reason: str) -> None:
        self._turned_away.labels(reason).inc()


class GatewayMetrics:
    """Exchanges with models, by upstream, by the entry of its list that allows the model, and by endpoint.

    The endpoint is what a call is for: chat/completions, responses, messages, embeddings, count_tokens.
    `over_budget` is told whose budget had no room for a call.
    """

    def __init__(
        self, registry: CollectorRegistry, over_budget: Callable[[str], None] = lambda _: None
    ) -> None:
        self.over_budget = over_budget
        make = _Make(registry, "firetrial_gateway_")
        by = ("upstream", "model", "endpoint")
        self._requests = make.counter(
            "requests_total", "Calls, by what agents got; 0: nothing.", *by, "status"
        )
        self._tokens = make.counter("tokens_total", "Tokens, cached ones among the prompt's.", *by, "kind")
        self._usd = make.counter("cost_usd_total", "Cost of calls whose price is known.", *by)
        self._unpriced = make.counter("unpriced_total", "Answered calls whose price is unknown.", *by)
        self._retries = make.counter("retries_total", "Requests made again.", *by)
        told = "Time that calls waited for a busy or broken upstream, for which runs' clocks stood still."
        self._wait = make.counter("wait_seconds_total", told, *by)
        told = "Calls that were not passed on, by reason, such as budget."
        self._refusals = make.counter("refusals_total", told, "reason")
        told = "Connections turned away for being too many, by reason: at_once, rate."
        self._turned_away = make.counter("turned_away_total", told, "reason")
        told = "From a call's budget to the end of its answer."
        self._seconds = make.histogram("request_seconds", told, *by, buckets=_CALL_SECONDS)

    def expect(self, upstream: str, model: str, endpoint: str) -> None:
        """Show what may be spent from its beginning: a monitor does not see the step to a first value."""
        self._usd.labels(upstream, model, endpoint)

    def exchanged(self, upstream: str, model: str, exchange: Exchange) -> None:
        """A call was passed on, and has ended."""
        by = (upstream, model, exchange.endpoint)
        self._requests.labels(*by, str(exchange.status)).inc()
        self._seconds.labels(*by).observe(exchange.latency_s)
        self._retries.labels(*by).inc(max(0, exchange.attempts - 1))
        self._wait.labels(*by).inc(exchange.waited_s)
        if exchange.tokens is not None:
            for kind in ("prompt", "completion", "cached"):
                self._tokens.labels(*by, kind).inc(getattr(exchange.tokens, kind))
        if exchange.cost_usd is not None:
            self._usd.labels(*by).inc(exchange.cost_usd)
        elif 200 <= exchange.status < 300:
            self._unpriced.labels(*by).inc()

    def refused(self, reason: str) -> None:
        self._refusals.labels(reason).inc()

    def turned_away(self, reason: str) -> None:
        self._turned_away.labels(reason).inc()


class GpuMetrics:
    """The GPUs that runs may be given, by device, and what runs made of them. A lost one has no sample."""

    def __init__(self, registry: CollectorRegistry, pool: str) -> None:
        make = _Make(registry, "firetrial_gpu_")
        by = ("pool", "index", "uuid", "model")
        self._pool = pool
        self._count = make.gauge("devices", "Devices that runs may be given.", "pool")
        self._utilisation = make.gauge("utilisation_ratio", "Share of the time in which it computes.", *by)
        self._used = make.gauge("memory_used_bytes", "Memory in use.", *by)
        self._total = make.gauge("memory_bytes", "Memory that it has.", *by)
        told = "Devices times wall time of the runs that had them."
        self._seconds = make.counter("run_seconds_total", told, "pool")
        told = "Of each run with GPUs, the mean share of the time in which they computed."
        self._share = make.histogram("run_utilisation_ratio", told, "pool", buckets=_SHARES)
        told = "Of each run with GPUs, the most memory that they held together."
        self._most = make.histogram("run_memory_bytes", told, "pool", buckets=_GPU_BYTES)

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

    def used(self, usage: RunUsage) -> None:
        """A run is over; nothing where it had no GPU."""
        if not usage.gpu_s:
            return
        self._seconds.labels(self._pool).inc(usage.gpu_s)
        if usage.gpu_utilisation is not None:
            self._share.labels(self._pool).observe(usage.gpu_utilisation)
        if usage.max_gpu_memory_bytes is not None:
            self._most.labels(self._pool).observe(usage.max_gpu_memory_bytes)
