"""A tenant's USD of a month, spent through the gateways of three runners on one real broker."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from firetrial_kit import jetstream
from firetrial_kit.clock import SystemClock
from firetrial_kit.kv import JetStreamState
from firetrial_kit.records import Records
from firetrial_runner.gateway.account import Account, Purse, Purses, month
from firetrial_runner.gateway.faults import TENANT
from firetrial_runner.gateway.wallet import Wallet
from support import scripted_models as scripted
from support.gateways import Rig, gateway, upstream
from support.scripted_models import ScriptedModels

pytestmark = pytest.mark.needs("nats-server")
CALL = 0.00019  # what a scripted answer comes to
CAP = 20 * CALL
PROMPT = "a word " * 60  # as long as the scripted usage says, by any estimate


async def runner(stack: AsyncExitStack, nats_url: str, url: str, number: int) -> tuple[Rig, Records[Account]]:
    """A runner's gateway, for one run of the tenant: a connection and a state of its own."""
    client = await jetstream.connect(nats_url, name=f"runner-{number}")
    stack.push_async_callback(client.close)
    accounts = Records(await JetStreamState.open(client, "ft_quota_spending"), "account", Account)
    purses, run_id = Purses(accounts, SystemClock()), f"t-acme--r-{number}"

    def paying() -> tuple[Purse, ...]:
        return (purses.of(month(run_id, SystemClock().now()), CAP, run_id, TENANT),)

    wallet = Wallet(paying, run_id)
    return await stack.enter_async_context(gateway(upstream(url), purse=wallet)), accounts


async def test_three_runners_reach_a_months_quota_and_never_pass_it(nats_url: str) -> None:
    with ScriptedModels(lambda _: scripted.text("an answer")) as models:
        async with AsyncExitStack() as stack:
            made = [await runner(stack, nats_url, models.base_url, number) for number in range(3)]
            calls = [made[number % 3][0].chat(PROMPT, max_tokens=10) for number in range(45)]
            statuses = Counter(answer.status_code for answer in await asyncio.gather(*calls))
            late = await made[0][0].chat(PROMPT, max_tokens=10)
            account = await made[0][1].get(month("t-acme--r-0", SystemClock().now()))
    assert set(statuses) == {200, 429}
    assert statuses[200] == len(models.requests)
    assert account.spent == pytest.approx(statuses[200] * CALL)
    assert account.spent <= CAP + 1e-9
    assert account.spent > CAP - 2 * CALL, "what is left is less than the next call may cost"
    assert late.status_code == 429
    assert "the tenant may spend" in late.text
    assert not account.holds
