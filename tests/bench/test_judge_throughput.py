"""What judging an experiment costs in calls and time, against a scripted model of 200 ms and 32 at once.

The short form judges 48 runs; FIRETRIAL_BENCH=full judges 360 (30 tasks × 4 agents × 3 repeats). Beside them
stands RAGChecker on the same server. FIRETRIAL_RAGCHECKER_PYTHON names a Python that has it (see
`ragchecker_run`), and then it is RAGChecker itself; else its call pattern as it is documented for the
official evaluation: one extraction a text, five claims a check, eight calls at once. An agent makes eight
claims here and the truth four; FIRETRIAL_BENCH_CLAIMS=4 makes it four, and where both sides have at most
five, RAGChecker takes four calls a run, which is its least: that is told and not held.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from firetrial.judge.v1 import events_pb2
from firetrial_judge.model_judge import clients, model_judges
from firetrial_kit.cache import StoreTier
from firetrial_kit.models import Endpoint, Message, ModelClient
from unit.judge.world import World

pytestmark = pytest.mark.timeout(400)
FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
TASKS, AGENTS, REPEATS = (30, 4, 3) if FULL else (8, 3, 2)
RUNS = TASKS * AGENTS * REPEATS
LATENCY, LIMIT = 0.2, 32
AGENT_CLAIMS, TRUTH_CLAIMS = int(os.environ.get("FIRETRIAL_BENCH_CLAIMS", "8")), 4
RAG_CHECK, RAG_AT_ONCE = 5, 8
RAGCHECKER = os.environ.get("FIRETRIAL_RAGCHECKER_PYTHON", "")
# Filling and emptying the line of 32 takes some rounds; over few runs, on a busy machine, they weigh more.
SLACK = 1.5 if FULL else 4.0


@dataclass(frozen=True)
class Served:
    """What the server says of itself."""

    answered: int
    refused: int
    most: int


@contextmanager
def model_process(limit: int = LIMIT) -> Iterator[str]:
    """A scripted model in a process of its own; gives its base URL."""
    argv = [sys.executable, "-m", "support.model_process", str(LATENCY), str(limit)]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as p:
        assert p.stdout
        try:
            yield p.stdout.readline().strip()
        finally:
            p.kill()


def served(url: str) -> Served:
    with urllib.request.urlopen(f"{url}/told") as answer:  # noqa: S310 - our own server
        return Served(**json.load(answer))


def findings(number: int, name: str) -> str:
    return "\n".join(f"Finding {n} of {name} falls with k" for n in range(1, number + 1))


async def experiment(world: World) -> None:
    """Every run of the experiment has concluded."""
    known: set[str] = set()
    for number, (task, truth, conclusion) in enumerate(texts()):
        if task not in known:
            known.add(task)
            await world.task(task, truth)
        await world.finish(await world.run(f"r-{number}", conclusion, task))


@asynccontextmanager
async def judge_process(world: World, url: str, at_once: int = LIMIT) -> AsyncIterator[None]:
    """A judge started anew over what the world holds, asking the model at `url`."""
    async with AsyncExitStack() as stack:
        client = clients(lambda _: Endpoint(url, "scripted", "none", at_once=at_once), stack)
        cache = StoreTier(world.objects, "results", "judge-cache")
        world.start(model=model_judges(client, cache, {}), at_once=64)
        yield


async def consume(world: World, judged: int) -> float:
    """Seconds until so many runs are judged."""
    stop = asyncio.Event()
    began = time.monotonic()
    consuming = asyncio.create_task(world.bus.consume(world.consumer, stop))
    while len(world.bus.settlements) < judged:
        await asyncio.sleep(0.02)
    wall = time.monotonic() - began
    stop.set()
    await consuming
    assert len(world.told("run_judged", events_pb2.RunJudged)) == judged
    return wall


async def judge_all(world: World, url: str, at_once: int = LIMIT) -> float:
    async with judge_process(world, url, at_once):
        return await consume(world, RUNS)


async def rag_pattern(url: str) -> float:
    """RAGChecker's calls for the same texts, as many at once as its batch is large; seconds."""
    per_run = [1, 1] + [1] * math.ceil(AGENT_CLAIMS / RAG_CHECK) + [1] * math.ceil(TRUTH_CLAIMS / RAG_CHECK)
    client = ModelClient(Endpoint(url, "scripted", "none"))
    turns = asyncio.Semaphore(RAG_AT_ONCE)
    prompt = findings(AGENT_CLAIMS, "a run")

    async def call() -> None:
        async with turns:
            await client.ask([Message("user", prompt)], {"type": "object"})

    began = time.monotonic()
    await asyncio.gather(*(call() for _ in range(RUNS) for _ in per_run))
    wall = time.monotonic() - began
    await client.aclose()
    return wall


def texts() -> list[tuple[str, str, str]]:
    """Task, truth and conclusion of every run."""
    return [
        (
            f"task-{task}",
            findings(TRUTH_CLAIMS, f"task {task}"),
            findings(AGENT_CLAIMS, f"agent {agent} in repeat {repeat} on task {task}"),
        )
        for task in range(TASKS)
        for agent in range(AGENTS)
        for repeat in range(REPEATS)
    ]


async def ragchecker(url: str) -> float:
    """RAGChecker itself over all runs as one set of results, with so many calls at once; seconds."""
    rows = [{"question": "What falls?", "truth": t, "conclusion": c} for _, t, c in texts()]
    run = await asyncio.create_subprocess_exec(
        RAGCHECKER,
        str(Path(__file__).with_name("ragchecker_run.py")),
        url,
        os.environ.get("FIRETRIAL_RAGCHECKER_BATCH", str(RAG_AT_ONCE)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await run.communicate(json.dumps(rows).encode())
    told = json.loads(said.splitlines()[-1])
    assert (told["precision"], told["recall"]) == (50.0, 50.0)
    return float(told["seconds"])


async def test_an_experiment_is_judged_in_two_calls_a_run_and_again_for_nothing(
    record_property: Callable[[str, object], None],
) -> None:
    world = World()
    await experiment(world)
    with model_process() as url:
        ours = await judge_all(world, url)
        mine = served(url)
        theirs = await (ragchecker(url) if RAGCHECKER else rag_pattern(url))
        rag = served(url).answered - mine.answered
    bound = mine.answered * LATENCY / LIMIT
    told = {
        "runs": RUNS, "calls": mine.answered, "calls_a_run": mine.answered / RUNS, "wall_s": ours,
        "bound_s": bound, "refused": mine.refused, "rag_calls": rag, "rag_wall_s": theirs,
        "rag": bool(RAGCHECKER), "fewer_calls": rag / mine.answered, "less_wall": theirs / ours,
    }  # fmt: skip
    for name, figure in told.items():
        record_property(name, figure)
    print({name: round(figure, 2) for name, figure in told.items()})
    assert mine.answered == 2 * RUNS + TASKS
    assert mine.answered <= 2.2 * RUNS
    assert mine.most <= LIMIT
    assert ours <= SLACK * bound
    assert AGENT_CLAIMS <= RAG_CHECK or rag >= 2 * mine.answered
    assert theirs >= (5 if FULL else 2) * ours
    scores = {event.scores.precision for event in world.told("run_judged", events_pb2.RunJudged)}
    assert scores == {0.5}


async def test_judged_again_nothing_is_paid_whether_judgements_are_kept_or_only_the_cache() -> None:
    world = World()
    await experiment(world)
    with model_process() as url:
        await judge_all(world, url)
        paid = served(url).answered
        messages = [m for m in world.bus.published if ".run_finished." in m.subject]
        for forgotten in ("", "results/judgements/"):
            if forgotten:
                for uri in [uri for uri in world.everything.held if uri.startswith(forgotten)]:
                    del world.everything.held[uri]
            world.bus.published = list(messages)
            world.bus.settlements.clear()
            async with judge_process(world, url):
                for message in messages:
                    world.bus.redeliver(world.consumer, message)
                await consume(world, RUNS)
        assert served(url).answered == paid


async def test_an_endpoint_that_takes_fewer_is_found_out_and_kept_to() -> None:
    world = World()
    await experiment(world)
    with model_process(limit=12) as url:
        wall = await judge_all(world, url, at_once=64)
        told = served(url)
    assert told.answered == 2 * RUNS + TASKS
    assert told.refused <= told.answered / 4
    assert wall <= 3 * told.answered * LATENCY / 12
