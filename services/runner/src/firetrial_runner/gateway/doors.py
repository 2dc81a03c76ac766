"""Runs come to the gateway here: each gets a door of its own, with its caps and its experiment's purse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry

from firetrial_kit import logs, tenants
from firetrial_kit.clock import Clock
from firetrial_runner.flood import Flow
from firetrial_runner.gateway.account import Purse, Purses, month
from firetrial_runner.gateway.app import ENDPOINTS
from firetrial_runner.gateway.call import Shared
from firetrial_runner.gateway.exchange import Tokens
from firetrial_runner.gateway.faults import TENANT
from firetrial_runner.gateway.gateway import FLOW, Door, Gateway
from firetrial_runner.gateway.line import Line
from firetrial_runner.gateway.masking import Masker
from firetrial_runner.gateway.prices import Prices
from firetrial_runner.gateway.session import Record
from firetrial_runner.gateway.settings import GatewaySettings
from firetrial_runner.gateway.upstream import Dialect, Upstream, choose
from firetrial_runner.gateway.wallet import Wallet
from firetrial_runner.metrics import GatewayMetrics
from firetrial_runner.records import Books
from firetrial_runner.run import Run
from firetrial_runner.wire import cost_cap


@dataclass(frozen=True, slots=True)
class Doors:
    gateway: Gateway
    purses: Purses
    books: Books
    masker: Masker
    quota_refused: Callable[[str, str], None]

    @classmethod
    @asynccontextmanager
    async def by(
        cls,
        path: Path | None,
        environ: Mapping[str, str],
        books: Books,
        clock: Clock,
        registry: CollectorRegistry,
        *,
        flow: Flow = FLOW,
        over_budget: Callable[[str], None] = lambda _: None,
        quota_refused: Callable[[str, str], None] = lambda _, __: None,
    ) -> AsyncIterator[Doors | None]:
        """By the settings in `path`, whose keys stay out of the logs; None where there are none.

        `over_budget` is told whose budget had no room for a call, `quota_refused` also the tenant and its
        quota where it was a tenant's. Raises SettingsError.
        """
        if path is None:
            yield None
            return
        settings = GatewaySettings.load(path)
        upstreams = settings.opened(environ)
        logs.hide(*(upstream.key for upstream in upstreams))
        masker = Masker(upstream.key for upstream in upstreams)
        metrics = GatewayMetrics(registry, over_budget)
        shared = Shared({upstream.name: Line(upstream) for upstream in upstreams}, masker, metrics)
        prices = Prices(settings.prices_by_model())
        _expect(metrics, upstreams, prices)
        gateway = Gateway(shared, prices, refuse_unpriced=settings.refuse_unpriced, flow=flow)
        try:
            yield cls(gateway, Purses(books.accounts, clock), books, masker, quota_refused)
        finally:
            await gateway.aclose()

    def has(self, model: str, dialect: Dialect | None) -> bool:
        """Whether agents may ask for a model, in one dialect or in any."""
        return any(choose(self.gateway.upstreams, d, model) for d in ([dialect] if dialect else Dialect))

    async def open(self, run: Run, record: Record, holds: Callable[[], bool]) -> Door:
        """A door for this attempt, to be closed when it is over; no call passes it once nobody `holds` it.

        Raises NOT_FOUND.
        """
        tenant = tenants.of(run.id)
        cap = cost_cap((await self.books.runs.get(run.id)).slip) if run.experiment_id else None
        most = self.books.quotas(tenant).usd_per_month

        def purses() -> Iterator[Purse]:
            if cap is not None:
                yield self.purses.of(run.experiment_id, cap, run.id)
            if most is not None:
                yield self.purses.of(month(run.id, self.purses.clock.now()), most, run.id, TENANT)

        def over(whose: str) -> None:
            if whose == TENANT:
                self.quota_refused(tenant, "usd_per_month")

        capped = cap is not None or most is not None
        wallet = Wallet(lambda: tuple(purses()), run.id, over) if capped else None
        return self.gateway.open(run.limits.models, wallet, record, holds)


def _expect(metrics: GatewayMetrics, upstreams: Iterable[Upstream], prices: Prices) -> None:
    """What has a price is counted from 0 on; of the names that a star stands for, some may have one."""
    for upstream in upstreams:
        for entry in upstream.models:
            known = prices.cost(entry, upstream.provider, upstream.url, Tokens(1, 1)) is not None
            for endpoint in ENDPOINTS if known or entry.endswith("*") else ():
                if endpoint.dialect is upstream.dialect and endpoint.paid:
                    metrics.expect(upstream.name, entry, endpoint.path[1:])
