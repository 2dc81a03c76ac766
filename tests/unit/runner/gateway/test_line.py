"""The line to an upstream: who may ask, and when."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import httpx
import pytest

from firetrial_runner.gateway.line import Line, UpstreamError, Wait
from firetrial_runner.gateway.upstream import Dialect, Upstream


async def test_a_runner_that_lost_the_run_pays_for_it_no_more() -> None:
    """Not even for a call that was let in while it still had it, and is to be tried again."""
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        headers = {"retry-after-ms": "1"}
        return httpx.Response(503, headers=headers, stream=httpx.ByteStream(b""))

    upstream = Upstream(
        name="one", key="", url="http://localhost/v1", dialect=Dialect.OPENAI, models=("small",), patience_s=5
    )
    line = Line(upstream, httpx.MockTransport(answer))
    wait = Wait(asyncio.Event(), nullcontext, lambda: len(asked) < 2)
    with pytest.raises(UpstreamError, match="lease is over"):
        await line.open("/chat/completions", b"{}", {}, wait)
    assert len(asked) == 2
