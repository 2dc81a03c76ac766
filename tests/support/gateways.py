"""A gateway for one run, on the loopback, before scripted upstreams."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from prometheus_client import CollectorRegistry

from firetrial_runner.allowance import ModelCaps
from firetrial_runner.gateway.call import Shared
from firetrial_runner.gateway.gateway import Door, Gateway
from firetrial_runner.gateway.line import Line
from firetrial_runner.gateway.masking import Masker
from firetrial_runner.gateway.prices import Price, Prices
from firetrial_runner.gateway.upstream import Dialect, Upstream
from firetrial_runner.gateway.wallet import Wallet
from firetrial_runner.metrics import GatewayMetrics

KEY = "sk-real-0123456789abcdef"
PRICES = Prices({"small": Price(1.0, 10.0, cached=0.5), "claude": Price(3.0, 15.0, 0.3, 3.75)})


@dataclass(slots=True)
class Rig:
    """A run's door, a client that holds its token, and the steps that were recorded."""

    door: Door
    client: httpx.AsyncClient
    url: str
    registry: CollectorRegistry
    steps: list[dict[str, Any]] = field(default_factory=list)

    async def chat(self, content: str = "hello", **body: Any) -> httpx.Response:
        messages = [{"role": "user", "content": content}]
        return await self.client.post(
            "/v1/chat/completions", json={"model": "small", "messages": messages, **body}
        )

    async def settled(self) -> list[dict[str, Any]]:
        """The steps, once every call under way has become one."""
        await self.door.session.close(20.0)
        return self.steps

    def metric(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"firetrial_gateway_{name}", labels) or 0.0


def upstream(url: str, dialect: Dialect = Dialect.OPENAI, **fields: Any) -> Upstream:
    """An upstream with a key and some models."""
    models = ("small", "free", "gpt-*") if dialect is Dialect.OPENAI else ("claude",)
    given = {"name": dialect.value, "key": KEY, "models": models, "patience_s": 5.0, **fields}
    return Upstream(url=url, dialect=dialect, **given)


@asynccontextmanager
async def gateway(
    *upstreams: Upstream,
    caps: ModelCaps | None = None,
    purse: Wallet | None = None,
    prices: Prices = PRICES,
    refuse_unpriced: bool = False,
) -> AsyncIterator[Rig]:
    registry = CollectorRegistry()
    lines = {u.name: Line(u) for u in upstreams}
    shared = Shared(lines, Masker(u.key for u in upstreams), GatewayMetrics(registry))
    whole = Gateway(shared, prices, refuse_unpriced=refuse_unpriced)
    steps: list[dict[str, Any]] = []

    async def record(text: str, told: dict[str, object]) -> None:
        steps.append({"text": text, **told})

    door = whole.open(caps or ModelCaps(), purse, record)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    door.serve(listener)
    headers = {"authorization": f"Bearer {door.session.token}"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30, limits=limits) as client:
        try:
            yield Rig(door, client, url, registry, steps)
        finally:
            await door.aclose()
            await whole.aclose()
