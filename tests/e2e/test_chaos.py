"""Runs go on while runners, agents and sandboxes die: each ends once, nothing is left, nothing is paid twice.

The short form is 30 runs and 5 blows; the full one (`make chaos`) 1,000 runs and 100 blows, with figures.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from nats.js import JetStreamContext

from firetrial.runner.v1.run_pb2 import Experiment
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
from support.chaos import AGENT, Ledger, Slot, Storm
from support.cluster import Cluster, cluster
from support.scripted_models import ScriptedModels

FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
RUNS = int(os.environ.get("FIRETRIAL_CHAOS_RUNS") or (1000 if FULL else 30))
BLOWS = RUNS // 10 if FULL else 5
SEED = int(os.environ.get("FIRETRIAL_CHAOS_SEED") or 1)
RUNNERS = ("runner", "runner-2", "runner-3")
TASKS = ("t-a", "t-b")
AGENTS = {"one": 1, "two": 2, "three": 3, "again": 2, "silent": 1}
"""How often each asks its model; the silent one concludes nothing."""
SLOTS, AT_ONCE, ATTEMPTS = 3, 8, 10
CAP_USD, CALL_USD = 100.0, 0.00019
ACK_WAIT_S = 3.0
pytestmark = [
    pytest.mark.needs("nats-server", "weed", "bwrap"),
    pytest.mark.timeout(3600 if FULL else 300),
]


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger(SORTING["right"])


@pytest.fixture(scope="module")
def system(
    tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3, ledger: Ledger
) -> Iterator[Cluster]:
    """Four services, two more runners in the same pool, and the models that agents ask."""
    folder = tmp_path_factory.mktemp("chaos")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    (folder / "tmp").mkdir()
    runner = {
        "FIRETRIAL_RUNNER_GATEWAY": str(folder / "gateway.toml"),
        "FIRETRIAL_RUNNER_SLOTS": str(SLOTS),
        "FIRETRIAL_ACK_WAIT": f"{ACK_WAIT_S:g}",
        "TMPDIR": str(folder / "tmp"),
    }
    with ScriptedModels(ledger.reply) as models, servers.nats_server(folder / "nats") as nats_url:
        (folder / "gateway.toml").write_text(
            f'[upstreams.scripted]\nurl = "{models.base_url}"\ndialect = "openai"\nmodels = ["small"]\n'
            "[prices.small]\nprompt = 1\ncompletion = 10\ncached = 0.5\n"
        )
        with cluster(folder, nats_url, s3_server, runner) as found:
            found.start(*RUNNERS[1:])
            yield found


@dataclass(slots=True)
class Look:
    """The runner's books and the broker's streams, read directly: no RPC that dies with a runner."""

    books: Books
    js: JetStreamContext
    latest: dict[str, Run]

    def now(self, experiment: str) -> list[Run]:
        """Its runs as they are now, or were a moment ago."""
        return [run for run in self.latest.values() if run.experiment_id == experiment]

    def over(self, experiment: str) -> int:
        """Slots whose agent's part is done."""
        return sum(run.is_over and not run.superseded for run in self.now(experiment))

    async def follow(self) -> None:
        async for record in self.books.runs.watch():
            self.latest[record.run.id] = record.run

    async def runs(self, experiment: str) -> list[Run]:
        records = await self.books.find_runs(await self.books.runs.ids())
        return [record.run for record in records if record.run.experiment_id == experiment]

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


async def submit(
    client: AsyncFiretrial, agents: Mapping[str, int], mark: str, *, usd: float = CAP_USD, **plan: Any
) -> Experiment:
    """An experiment on two tasks of agents that make so many calls; the same again is the same."""
    tasks = [
        await client.submit_task(
            slug,
            question="Which sorting method is faster?",
            instruction=f"Find out. This is {slug}",
            ground_truth=SORTING["right"],
        )
        for slug in TASKS
    ]
    registered = [
        await client.submit_agent(
            name=name,
            command=["python3", "/agent/agent.py", name, str(calls), mark],
            files={"agent.py": AGENT.encode()},
        )
        for name, calls in agents.items()
    ]
    wanted = make_plan(
        [agent.id for agent in registered], judge="offline", spending=Spending(usd=usd), **plan
    )
    wanted.max_attempts = ATTEMPTS
    return await client.submit_experiment([answer.task.id for answer in tasks], wanted, request_id=mark)


async def settled(look: Look) -> None:
    """Until no message waits."""
    until = time.monotonic() + 60
    while (stuck := await look.stuck()) and time.monotonic() < until:
        await asyncio.sleep(0.1)
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


async def test_cancel_ends_what_waits_and_what_runs_within_two_seconds(system: Cluster) -> None:
    mark = f"cancel-{uuid.uuid4().hex}"
    async with AsyncFiretrial(system.endpoints) as client, looking(system.nats_url) as look:
        experiment = (await submit(client, {"sleepy": 1}, mark, repeats=7)).id
        async with asyncio.timeout(30):
            while len(chaos.agents(mark)) < SLOTS * len(RUNNERS):
                await asyncio.sleep(0.05)
        begun = time.monotonic()
        await client.cancel_experiment(experiment)
        while {run.state for run in look.now(experiment)} != {RunState.ENDED}:
            await asyncio.sleep(0.02)
        assert time.monotonic() - begun < 2
        assert {run.outcome for run in await look.runs(experiment)} == {Outcome.CANCELLED}
        assert chaos.processes(mark) == []
        assert chaos.in_work(system.folder) == []
        await settled(look)


async def test_the_cap_of_an_experiment_holds_over_all_runners(system: Cluster, ledger: Ledger) -> None:
    mark, before = f"cap-{uuid.uuid4().hex}", len(ledger.calls)
    async with AsyncFiretrial(system.endpoints) as client, looking(system.nats_url) as look:
        experiment = (await submit(client, {"capped": 3}, mark, repeats=6, usd=10.5 * CALL_USD)).id
        async with asyncio.timeout(60):
            while look.over(experiment) < 12:
                await asyncio.sleep(0.05)
        runs = await look.runs(experiment)
        account = await look.books.accounts.get(experiment)
    calls = len(ledger.calls) - before
    # The last call's answer is held to what was left, which the scripted model does not heed.
    assert account.spent == pytest.approx(calls * CALL_USD)
    assert 10 <= calls <= 11
    failed = [run.reason for run in runs if run.outcome is Outcome.AGENT_FAILED]
    assert len(failed) >= 12 - calls // 3
    assert all("budget was used up" in reason for reason in failed)
    assert account.holds == {}


async def test_an_experiment_goes_on_after_its_runners_and_pays_for_nothing_twice(
    system: Cluster, ledger: Ledger
) -> None:
    """One runner ends in good order, and with it what it has in hand; the others die."""
    mark, agents = f"resume-{uuid.uuid4().hex}", {"resumed": 3}
    async with AsyncFiretrial(system.endpoints) as client, looking(system.nats_url) as look:
        experiment = (await submit(client, agents, mark, repeats=12)).id
        async with asyncio.timeout(60):
            while look.over(experiment) < 6:
                await asyncio.sleep(0.02)
        system.processes["runner-2"].send_signal(signal.SIGTERM)
        for name in ("runner", "runner-3"):
            system.kill(name)
        await asyncio.to_thread(servers.end, system.processes["runner-2"])
        assert system.processes["runner-2"].returncode == 0
        finished = {slot_of(run) for run in await look.runs(experiment) if run.is_over}
        paid = Counter(call.slot for call in ledger.calls)
        await asyncio.to_thread(system.start, *RUNNERS)
        assert (await submit(client, agents, mark, repeats=12)).id == experiment
        async with asyncio.timeout(60):
            while look.over(experiment) < 24:
                await asyncio.sleep(0.05)
        await submit(client, agents, mark, repeats=12)
        await settled(look)
        slots = by_slot(await look.runs(experiment))
    calls = ledger.by_slot()
    assert finished
    assert {slot: len(calls[slot]) for slot in finished} == {slot: paid[slot] for slot in finished}
    assert [fault for slot, runs in slots.items() for fault in chaos.call_faults(calls[slot], runs)] == []
    lost = [run for runs in slots.values() for run in runs if run.outcome is Outcome.INFRA_FAILED]
    assert len(lost) <= 2 * SLOTS
    assert {runs[-1].outcome for runs in slots.values()} == {Outcome.SCORED}


async def left_behind(system: Cluster, mark: str) -> list[str]:
    """While the runners live, and once they have gone in good order, as they do here."""
    living = system.folder / "work" / "runners"
    (leases,) = {path.name.partition("-")[0] for path in living.glob("*-*")}
    until = time.monotonic() + 20  # the last one that was started again has its first sweep to do
    while (left := chaos.traces(system.folder, mark, leases)) and time.monotonic() < until:
        await asyncio.sleep(0.1)
    if (there := len(list(living.glob("*-*")))) != len(RUNNERS):
        left += [f"{there} runners are said to live"]
    for name in RUNNERS:
        await asyncio.to_thread(servers.end, system.processes[name])
        assert system.processes[name].returncode == 0
    left += chaos.traces(system.folder, mark, leases)
    return [*left, *map(str, living.glob("*-*"))]


async def test_every_run_ends_once_and_leaves_nothing(system: Cluster, ledger: Ledger) -> None:
    mark, begun = f"chaos-{uuid.uuid4().hex}", time.monotonic()
    repeats = RUNS // len(TASKS) // len(AGENTS)
    async with AsyncFiretrial(system.endpoints) as client, looking(system.nats_url) as look:
        experiment = (await submit(client, AGENTS, mark, repeats=repeats, at_once=AT_ONCE)).id
        storm = Storm(
            system,
            RUNNERS,
            mark,
            random.Random(SEED),  # noqa: S311 - the same blows each time
            RUNS,
            lambda: look.over(experiment),
            ACK_WAIT_S + 1.5,
        )
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
        runs = await look.runs(experiment)
        account = await look.books.accounts.get(experiment)
        turns = await look.books.turns.get(experiment)
        judged = Counter([judgement.run_id async for judgement in client.list_judgements()])
        told = json.loads(await client.render_report(experiment, "json"))
    slots, calls = by_slot(runs), ledger.by_slot()
    paid = [call for slot in slots for call in calls[slot]]
    faults = [fault for slot, runs in slots.items() for fault in chaos.call_faults(calls[slot], runs)]
    left = await left_behind(system, mark)
    figures = {
        "runs": RUNS, "blows": dict(storm.struck), "attempts": len(runs), "wall_s": round(wall_s, 1),
        "outcomes": dict(Counter(str(run.outcome) for run in runs)), "most at once": most_at_once(runs),
        "model calls": len(paid), "repeated or late": len(faults), "left behind": len(left),
    }  # fmt: skip
    print("\nchaos:", figures)
    check_outcomes(slots, storm.struck)
    assert (faults, left) == ([], [])
    ours = {run.id for run in runs}
    assert {id_: times for id_, times in judged.items() if id_ in ours} == {
        run.id: 1 for run in runs if run.outcome is Outcome.SCORED
    }
    # Every mean is over what the agents did: no loss is among them.
    assert {agent["score"]["f1"]["counted"] for agent in told["agents"]} == {RUNS // len(AGENTS)}
    for slot, attempts in slots.items():
        if attempts[-1].outcome is Outcome.SCORED:
            assert attempts[-1].usage is not None
            assert attempts[-1].usage.model_calls == AGENTS[slot[1]]
    assert (turns.going, turns.untold) == ((), ())
    assert most_at_once(runs) <= AT_ONCE
    assert account.holds == {}, "nobody keeps what the dead had set aside"
    assert len(paid) * CALL_USD <= account.spent + 1e-9 <= CAP_USD
