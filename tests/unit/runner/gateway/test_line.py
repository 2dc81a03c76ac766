"""The line to an upstream: who may ask, and when."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import httpx

from firetrial_runner.gateway.line import Line, Wait
from firetrial_runner.gateway.upstream import Dialect, Upstream


async def test_a_runner_that_may_have_lost_the_run_pays_for_it_no_more() -> None:
    """Nor for a call that was let in while it had it, and is tried again: not before it has it again."""
    asked: list[httpx.Request] = []
    held = True

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal held
        asked.append(request)
        held = len(asked) < 2
        headers = {"retry-after-ms": "1"}
        return httpx.Response(503 if len(asked) < 3 else 200, headers=headers, stream=httpx.ByteStream(b""))

    upstream = Upstream(
        name="one", key="", url="http://localhost/v1", dialect=Dialect.OPENAI, models=("small",), patience_s=5
    )
    line = Line(upstream, httpx.MockTransport(answer))
    wait = Wait(asyncio.Event(), nullcontext, lambda: held)
    opening = asyncio.create_task(line.open("/chat/completions", b"{}", {}, wait))
    await asyncio.sleep(0.2)
    assert (len(asked), opening.done()) == (2, False)
    held = True
    opened = await opening
    assert (opened.response.status_code, len(asked)) == (200, 3)
    await opened.aclose()
