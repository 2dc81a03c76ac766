"""Runs go on while runners, agents and sandboxes die: each ends once, nothing is left, nothing is paid twice.

The short form is 30 runs and 5 blows; the full one (`make chaos`) 1,000 runs and 100 blows, with figures.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from nats.js import JetStreamContext

from firetrial_client import AsyncFiretrial, make_plan
from firetrial_client.plans import Spending
from firetrial_kit.events import EVENTS, WORK
from firetrial_kit.jetstream import connect
from firetrial_kit.kv import JetStreamState
from firetrial_kit.s3 import S3Objects
from firetrial_runner.records import Books
from firetrial_runner.run import Outcome, Run, RunState
from support import chaos, servers
from support.agents import SORTING
from support.chaos import AGENT, CALLS, Ledger, Slot, Storm
from support.cluster import Cluster, cluster
from support.scripted_models import ScriptedModels

FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
RUNS = int(os.environ.get("FIRETRIAL_CHAOS_RUNS") or (1000 if FULL else 30))
BLOWS = RUNS // 10 if FULL else 5
SEED = int(os.environ.get("FIRETRIAL_CHAOS_SEED") or 1)
RUNNERS = ("runner", "runner-2", "runner-3")
TASKS = ("t-a", "t-b")
SLOTS, AT_ONCE, ATTEMPTS = 3, 8, 10
CAP_USD, CALL_USD = 100.0, 0.00019
ACK_WAIT_S = 3.0
pytestmark = [
    pytest.mark.needs("nats-server", "weed", "bwrap"),
    pytest.mark.timeout(3600 if FULL else 300),
]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(SORTING["right"])


@pytest.fixture
def models(ledger: Ledger) -> Iterator[ScriptedModels]:
    with ScriptedModels(ledger.reply) as found:
        yield found


@pytest.fixture
def system(tmp_path: Path, s3_server: servers.S3, models: ScriptedModels) -> Iterator[Cluster]:
    """Four services, and two more runners in the same pool."""
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    (tmp_path / "tmp").mkdir()
    gateway = tmp_path / "gateway.toml"
    gateway.write_text(
        f'[upstreams.scripted]\nurl = "{models.base_url}"\ndialect = "openai"\nmodels = ["small"]\n'
        "[prices.small]\nprompt = 1\ncompletion = 10\ncached = 0.5\n"
    )
    environ = {
        "FIRETRIAL_RUNNER_GATEWAY": str(gateway),
        "FIRETRIAL_RUNNER_SLOTS": str(SLOTS),
        "FIRETRIAL_ACK_WAIT": f"{ACK_WAIT_S:g}",
        "TMPDIR": str(tmp_path / "tmp"),
    }
    with (
        servers.nats_server(tmp_path / "nats") as nats_url,
        cluster(tmp_path, nats_url, s3_server, **environ) as found,
    ):
        for name in RUNNERS[1:]:
            found.start(name)
        yield found


@dataclass(slots=True)
class Look:
    """The runner's books and the broker's streams, read directly: no RPC that dies with a runner."""

    books: Books
    js: JetStreamContext
    latest: dict[str, Run]

    def over(self) -> int:
        """Slots whose agent's part is done."""
        return sum(run.is_over and not run.superseded for run in self.latest.values())

    async def follow(self) -> None:
        async for record in self.books.runs.watch():
            self.latest[record.run.id] = record.run

    async def runs(self) -> list[Run]:
        return [record.run for record in await self.books.find_runs(await self.books.runs.ids())]

    async def stuck(self) -> list[str]:
        """What waits in a stream although nothing is to be done."""
        work = await self.js.stream_info(WORK)
        found = [f"{work.state.messages} messages in {WORK}"] if work.state.messages else []
        for consumer in await self.js.consumers_info(EVENTS):
            waiting = consumer.num_pending or 0, consumer.num_ack_pending or 0
            if consumer.config.durable_name and any(waiting):
                found += [f"{consumer.name}: {waiting}"]
        return found


@asynccontextmanager
async def looking(nats_url: str) -> AsyncIterator[Look]:
    client = await connect(nats_url, name="chaos")
    look = Look(Books(await JetStreamState.open(client, "ft_runner")), client.jetstream(), {})
    following = asyncio.create_task(look.follow())
    try:
        yield look
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await client.close()


async def submit(client: AsyncFiretrial, mark: str) -> str:
    """An experiment of so many runs; its id."""
    tasks = [
        (
            await client.submit_task(
                slug,
                question="Which sorting method is faster?",
                instruction=f"Find out. This is {slug}",
                ground_truth=SORTING["right"],
            )
        ).task.id
        for slug in TASKS
    ]
    agents = [
        (
            await client.submit_agent(
                name=name,
                command=["python3", "/agent/agent.py", name, str(calls), mark],
                files={"agent.py": AGENT.encode()},
            )
        ).id
        for name, calls in CALLS.items()
    ]
    repeats = RUNS // len(TASKS) // len(agents)
    plan = make_plan(
        agents,
        repeats=repeats,
        wall_time=60,
        judge="offline",
        at_once=AT_ONCE,
        spending=Spending(usd=CAP_USD),
    )
    plan.max_attempts = ATTEMPTS
    return str((await client.submit_experiment(tasks, plan)).id)


async def settled(look: Look) -> None:
    """Until no message waits."""
    async with asyncio.timeout(120):
        while stuck := await look.stuck():
            await asyncio.sleep(0.2)
    assert stuck == []


def slot_of(run: Run) -> Slot:
    return run.task_id.rpartition("-")[0], run.agent_id.partition("@")[0], run.repeat


def by_slot(runs: list[Run]) -> dict[Slot, list[Run]]:
    found: dict[Slot, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.attempt):
        found[slot_of(run)].append(run)
    return found


def check_outcomes(slots: dict[Slot, list[Run]], struck: Counter[str]) -> None:
    """Exactly one outcome a slot, and an infrastructure's failure is nobody else's."""
    assert len(slots) == RUNS
    unlucky = 0
    for slot, attempts in slots.items():
        assert [run.attempt for run in attempts] == list(range(1, len(attempts) + 1)), slot
        *before, last = attempts
        assert all(run.state is RunState.ENDED and run.lease is None for run in attempts), attempts
        assert {(run.outcome, run.superseded) for run in before} <= {(Outcome.INFRA_FAILED, True)}, attempts
        assert not last.superseded
        for one, after in pairwise(attempts):
            assert one.ended_at is not None
            assert after.started_at is not None
            assert one.ended_at <= after.started_at
        if slot[1] == "silent":
            assert last.outcome is Outcome.AGENT_FAILED, last
        elif last.outcome is not Outcome.SCORED:
            # An agent that is killed inside its sandbox has failed; nothing else can fail here.
            assert last.outcome is Outcome.AGENT_FAILED, last
            assert "signal 9" in last.reason, last
            unlucky += 1
    assert unlucky <= struck["agent"]


def most_at_once(runs: list[Run]) -> int:
    """The most attempts that were under way at one moment."""
    events = [(run.started_at, 1) for run in runs if run.started_at]
    events += [(run.ended_at, -1) for run in runs if run.started_at and run.ended_at]
    now = most = 0
    for _, change in sorted(events):
        now += change
        most = max(most, now)
    return most


async def test_every_run_ends_once_and_leaves_nothing(system: Cluster, ledger: Ledger) -> None:
    mark, begun = f"chaos-{uuid.uuid4().hex}", time.monotonic()
    async with AsyncFiretrial(system.endpoints) as client, looking(system.nats_url) as look:
        experiment = await submit(client, mark)
        storm = Storm(system, RUNNERS, mark, random.Random(SEED), RUNS, look.over, ACK_WAIT_S + 1.5)  # noqa: S311 - the same blows each time
        raging = asyncio.create_task(storm.rage(BLOWS))
        async for report in client.watch_report(experiment, timeout=3500 if FULL else 240, appear=60):
            last = report
        wall_s = time.monotonic() - begun
        await raging
        async for _ in client.watch_runs(experiment, timeout=60):
            pass  # until the runner has heard of every verdict, too
        assert last.complete
        assert (last.ended_runs, last.expected_runs) == (RUNS, RUNS)
        await settled(look)
        runs = await look.runs()
        account = await look.books.accounts.get(experiment)
        turns = await look.books.turns.get(experiment)
        judged = Counter([judgement.run_id async for judgement in client.list_judgements()])
    slots, calls = by_slot(runs), ledger.by_slot()
    figures = {
        "runs": RUNS, "blows": dict(storm.struck), "attempts": len(runs), "wall_s": round(wall_s, 1),
        "outcomes": dict(Counter(str(run.outcome) for run in runs)), "model calls": len(ledger.calls),
        "spent": round(account.spent, 4), "most at once": most_at_once(runs),
    }  # fmt: skip
    print("\nchaos:", figures)
    check_outcomes(slots, storm.struck)
    assert judged == Counter({run.id: 1 for run in runs if run.outcome is Outcome.SCORED})
    faults = [fault for slot, runs in slots.items() for fault in chaos.call_faults(calls[slot], runs)]
    assert faults == []
    for slot, attempts in slots.items():
        if attempts[-1].outcome is Outcome.SCORED:
            assert attempts[-1].usage is not None
            assert attempts[-1].usage.model_calls == CALLS[slot[1]]
    assert (turns.going, turns.untold) == ((), ())
    assert most_at_once(runs) <= AT_ONCE
    assert account.holds == {}, "nobody keeps what the dead had set aside"
    assert len(ledger.calls) * CALL_USD <= account.spent + 1e-9 <= CAP_USD
    await check_nothing_is_left(system, mark)


async def check_nothing_is_left(system: Cluster, mark: str) -> None:
    """While the runners live and, but for the work folder itself, once they have gone in good order."""
    living = system.folder / "work" / "runners"
    (leases,) = {path.name.partition("-")[0] for path in living.glob("*-*")}
    until = time.monotonic() + 20  # the last one that was started again has its first sweep to do
    while (left := chaos.traces(system.folder, mark, leases)) and time.monotonic() < until:
        await asyncio.sleep(0.1)
    assert left == []
    assert len(list(living.glob("*-*"))) == len(RUNNERS)
    for name in RUNNERS:
        await asyncio.to_thread(servers.end, system.processes[name])
    assert [system.processes[name].returncode for name in RUNNERS] == [0] * len(RUNNERS)
    assert chaos.traces(system.folder, mark, leases) == []
    assert list(living.glob("*-*")) == []
