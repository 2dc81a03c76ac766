"""What the broker says of the runs and of those who carry them, as gauges.

The analyzer tells it, for it is there when no runner is. What cannot be learned has no sample: an old figure
would be taken for one of now.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from firetrial_kit.errors import FiretrialError
from firetrial_kit.figures import ConsumerFigures, Figures, WorkFigures
from firetrial_kit.labels import Bounded

Samples = Mapping[tuple[str, ...], float]
_EVERY_S = 5.0
_OLD_S = 30.0
"""Seconds after which figures are of the past."""
_NOTHING = Figures((), (), (), {}, 0, None)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Work that pools have, and how its gauges are named."""

    work: str
    name: str
    oldest: str
    told: str


_KINDS = (
    _Kind("run", "runs", "seconds", "Runs"),
    _Kind("test", "tests", "test_seconds", "Sealed tests, and looks of graders,"),
)


class Fleet(Collector):
    """Looks at the broker every five seconds, and shows what it saw last."""

    def __init__(
        self,
        registry: CollectorRegistry,
        look: Callable[[], Awaitable[Figures]],
        log: structlog.typing.FilteringBoundLogger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._log, self._clock = look, log, clock
        self._pools, self._consumers = Bounded(), Bounded()
        self._figures: Figures | None = None
        self._seen = float("-inf")
        registry.register(self)

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_EVERY_S)

    async def look(self) -> None:
        """Look once."""
        try:
            self._figures, self._seen = await self._look(), self._clock()
        except FiretrialError as error:
            if self._figures is not None:
                self._log.warning("the broker tells no figures", error=error.message)
            self._figures = None

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield _up(0)
        yield from self._shown(_NOTHING)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        figures = self._figures if self._clock() - self._seen <= _OLD_S else None
        yield _up(0 if figures is None else 1)
        if figures is not None:
            yield from self._shown(figures)

    def _shown(self, figures: Figures) -> Iterator[GaugeMetricFamily]:
        for kind in _KINDS:
            yield from self._of_pools([work for work in figures.work if work.kind == kind.work], kind)
        yield from self._of_consumers(figures.consumers)
        yield from _of_streams(figures)
        told = "Messages that were given up and are kept for an operator, by the consumer that gave them up."
        # A monitor sees a first letter only where there was none before.
        letters = {one.name: 0 for one in figures.consumers} | dict(figures.dead)
        dead = self._summed(self._consumers, (((name,), count) for name, count in letters.items()))
        yield _gauge("dead_letters", told, ("consumer",), dead or {("",): 0.0})

    def _of_pools(self, works: Sequence[WorkFigures], kind: _Kind) -> Iterator[GaugeMetricFamily]:
        by = ("pool",)
        waiting = self._summed(self._pools, (((work.pool,), work.waiting) for work in works))
        delivered = self._summed(self._pools, (((work.pool,), work.delivered) for work in works))
        oldest: dict[tuple[str, ...], float] = {}
        for work in works:
            pool = self._pools.of(work.pool)
            oldest[pool] = max(oldest.get(pool, 0.0), work.oldest_s)
        told = f"{kind.told} that wait in their pool and were never given to a runner."
        yield _gauge(f"pool_waiting_{kind.name}", told, by, waiting)
        what = "that a runner was given and that are not settled: they run, were put back, or it died."
        yield _gauge(f"pool_delivered_{kind.name}", f"{kind.told} {what}", by, delivered)
        told = f"For how long the oldest of the waiting {kind.name} has waited."
        yield _gauge(f"pool_oldest_waiting_{kind.oldest}", told, by, oldest)

    def _of_consumers(self, consumers: Sequence[ConsumerFigures]) -> Iterator[GaugeMetricFamily]:
        figures = {
            "pending": "Messages that were not delivered yet to a durable consumer.",
            "unsettled": "Messages that were delivered to it and are not settled.",
            "redelivered": "Messages that were delivered to it more than once and are not settled.",
        }
        for name, told in figures.items():
            found = (((one.stream, one.name), getattr(one, name)) for one in consumers)
            samples = self._summed(self._consumers, found)
            yield _gauge(f"consumer_{name}", told, ("stream", "consumer"), samples)

    def _summed(self, labels: Bounded, found: Iterable[tuple[tuple[str, ...], float]]) -> Samples:
        """The figures under their labels, which several may share once there are too many."""
        sums: dict[tuple[str, ...], float] = {}
        for values, figure in found:
            shown = labels.of(*values)
            sums[shown] = sums.get(shown, 0.0) + figure
        return sums


def _up(value: int) -> GaugeMetricFamily:
    told = "1 where the last look at the broker was answered; else 0, and what the broker tells is not there."
    return _gauge("broker_up", told, (), {(): value})


def _of_streams(figures: Figures) -> Iterator[GaugeMetricFamily]:
    messages: dict[tuple[str, ...], float] = {(s.name,): s.messages for s in figures.streams}
    size: dict[tuple[str, ...], float] = {(s.name,): s.bytes for s in figures.streams}
    limits: dict[tuple[str, ...], float] = {
        (s.name,): s.limit_bytes for s in figures.streams if s.limit_bytes is not None
    }
    yield _gauge("stream_messages", "Messages in a stream.", ("stream",), messages)
    yield _gauge("stream_bytes", "Size of a stream.", ("stream",), size)
    yield _gauge("stream_limit_bytes", "What a stream may take, where that is limited.", ("stream",), limits)
    yield _gauge("broker_storage_bytes", "Size of all streams in files.", (), {(): figures.bytes})
    limit: Samples = {} if figures.limit_bytes is None else {(): figures.limit_bytes}
    yield _gauge("broker_storage_limit_bytes", "What all streams may take, where that is limited.", (), limit)


def _gauge(name: str, told: str, by: Sequence[str], samples: Samples) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"firetrial_{name}", told, labels=by)
    for labels, value in samples.items():
        family.add_metric(labels, value)
    return family
