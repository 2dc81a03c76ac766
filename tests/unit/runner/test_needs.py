"""What is missing for runs is told before they start, all at once, and is nobody's failure but ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from firetrial.parser.v1 import task_pb2
from firetrial.parser.v1.events_pb2 import TaskCreated
from firetrial.plan.v1 import plan_pb2
from firetrial_kit import events
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.testing import InMemoryState, ManualClock
from firetrial_runner.agent import AgentDefinition
from firetrial_runner.agents import Agents
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.programs import Shelf
from firetrial_runner.records import Books
from firetrial_runner.run import Outcome, RunState
from firetrial_runner.task import Source, Task
from unit.runner.world import World

CODEX = "codex@0.171.0"
SOURCES = [task_pb2.DataSource(hugging_face="openai/gsm8k"), task_pb2.DataSource(path="mine/a.csv")]


@pytest.fixture
def state() -> InMemoryState:
    return InMemoryState()


@pytest.fixture
async def doors(state: InMemoryState, tmp_path: Path) -> AsyncIterator[Doors]:
    settings = tmp_path / "gateway.toml"
    settings.write_text(
        '[upstreams.one]\nurl = "http://127.0.0.1:9/v1"\ndialect = "openai"\nmodels = ["gpt-*"]\n'
        '[upstreams.two]\nurl = "http://127.0.0.1:9/v1"\ndialect = "anthropic"\nmodels = ["claude"]\n'
    )
    opening = Doors.by(settings, {}, Books(state), ManualClock(), CollectorRegistry())
    async with opening as opened:
        assert opened is not None
        yield opened


async def register(world: World, program: str = CODEX) -> str:
    agents = Agents(world.books.agents, world.objects, world.clock)
    return (await agents.submit(AgentDefinition("an-agent", ("conclude",), program=program))).id


async def submit(world: World, program: str = CODEX, **plan: Any) -> str:
    task = await world.task(sources=SOURCES)
    wanted = plan_pb2.Plan(agents=[await register(world, program)], repeats=1, **plan)
    return (await world.experiments.submit("", (task,), wanted)).id


def provide(data: Path, shelf: Path) -> None:
    (data / "huggingface/openai/gsm8k").mkdir(parents=True)
    (data / "mine").mkdir()
    (data / "mine/a.csv").write_text("1")
    (shelf / "codex/0.171.0").mkdir(parents=True)


async def test_an_experiment_is_refused_with_all_that_is_missing(tmp_path: Path, doors: Doors) -> None:
    world = World(tmp_path / "work", doors=doors, data=tmp_path / "data")
    with pytest.raises(FiretrialError) as raised:
        await submit(world, model="claude")
    assert raised.value.reason is Reason.PRECONDITION
    faults = {(fault.field, fault.value): fault.cure for fault in raised.value.faults}
    assert set(faults) == {
        ("program", CODEX),
        ("plan.model", "claude"),
        ("sources of task-1", "openai/gsm8k"),
        ("sources of task-1", "mine/a.csv"),
    }
    assert "firetrial programs install codex" in faults["program", CODEX]
    assert "speaks openai" in faults["plan.model", "claude"]
    assert str(tmp_path / "data/huggingface/openai/gsm8k") in faults["sources of task-1", "openai/gsm8k"]
    assert await world.books.experiments.ids() == []


@pytest.mark.parametrize("pool", ["default", "gpu"])
async def test_data_that_came_with_a_task_must_be_in_the_store(tmp_path: Path, pool: str) -> None:
    world = World(tmp_path / "work")
    kept = await world.objects.put("runs", "tasks/a/data.tar", b"", "application/x-tar")
    there = {"uri": kept.uri, "sha256": kept.sha256, "size": kept.size}
    tasks = (
        await world.task("task-a", data=there),
        await world.task("task-b", data={**there, "uri": "runs/tasks/b/data.tar"}),
    )
    wanted = plan_pb2.Plan(agents=[await register(world, "")], repeats=1, pool=pool)
    with pytest.raises(FiretrialError) as raised:
        await world.experiments.submit("", tasks, wanted)
    assert raised.value.reason is Reason.PRECONDITION
    assert [(fault.field, fault.value) for fault in raised.value.faults] == [
        ("data of task-b", "runs/tasks/b/data.tar")
    ]
    assert await world.books.experiments.ids() == []


@pytest.mark.parametrize(
    ("model", "gateway", "program", "told"),
    [
        ("", True, CODEX, "must name the model"),
        ("gpt-5", False, CODEX, "FIRETRIAL_RUNNER_GATEWAY"),
        ("llama", True, "", "must be listed by an upstream"),
        ("llama", True, "replay", "must be listed by an upstream"),
    ],
)
async def test_models_that_cannot_be_had(  # noqa: PLR0917 -- two fixtures
    model: str, gateway: bool, program: str, told: str, tmp_path: Path, doors: Doors
) -> None:
    provide(tmp_path / "data", tmp_path / "shelf")
    shelf = Shelf(tmp_path / "shelf")
    world = World(tmp_path / "work", doors=doors if gateway else None, shelf=shelf, data=tmp_path / "data")
    with pytest.raises(FiretrialError, match=told):
        await submit(world, program, model=model)


@pytest.mark.parametrize(("program", "model"), [(CODEX, "gpt-5"), ("", "claude"), ("", ""), ("replay", "")])
async def test_what_is_there_runs(
    program: str, model: str, tmp_path: Path, state: InMemoryState, doors: Doors
) -> None:
    provide(tmp_path / "data", tmp_path / "shelf")
    shelf, data = Shelf(tmp_path / "shelf"), tmp_path / "data"
    world = World(tmp_path / "work", state=state, doors=doors, shelf=shelf, data=data)
    await submit(world, program, model=model)
    await world.deliver()
    (record,) = [await world.books.runs.get(id_) for id_ in await world.books.runs.ids()]
    assert record.run.state is RunState.CONCLUDED
    (spec,) = world.sandbox.started
    mounted = {inside: host for inside, host in spec.read_only.items() if inside != "/agent"}
    assert mounted == {
        "/data/huggingface/openai/gsm8k": tmp_path / "data/huggingface/openai/gsm8k",
        "/data/mine/a.csv": tmp_path / "data/mine/a.csv",
        **({"/opt/codex": tmp_path / "shelf/codex/0.171.0"} if program == CODEX else {}),
    }


async def test_what_goes_missing_later_ends_the_run_as_ours_without_another_try(tmp_path: Path) -> None:
    provide(tmp_path / "data", tmp_path / "shelf")
    world = World(tmp_path / "work", shelf=Shelf(tmp_path / "shelf"), data=tmp_path / "data")
    await submit(world, "")
    (tmp_path / "data/mine/a.csv").unlink()
    await world.deliver()
    (record,) = [await world.books.runs.get(id_) for id_ in await world.books.runs.ids()]
    assert (record.run.outcome, record.run.superseded) == (Outcome.INFRA_FAILED, False)
    assert "a.csv" in record.run.reason
    assert world.sandbox.started == []


async def test_another_pool_is_not_spoken_for(tmp_path: Path) -> None:
    await submit(World(tmp_path / "work"), model="gpt-5", pool="gpu")


def test_a_link_out_of_the_data_folder_is_nothing_provided(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/out").symlink_to("/etc")
    needs = replace(World(tmp_path / "work").experiments.needs, data=tmp_path / "data")
    task = Task("t", "do", None, (Source("out/passwd", "out/passwd"),))
    with pytest.raises(FiretrialError, match="out/passwd"):
        needs.check_experiment("default", [], "", [task])


async def test_a_task_that_comes_later_fails_its_experiment_and_says_what_is_missing(tmp_path: Path) -> None:
    world = World(tmp_path / "work", data=tmp_path / "data")
    slip = plan_pb2.Slip(experiment_id="e-1", expected_runs=1)
    slip.plan.agents.append(await register(world, ""))
    slip.plan.repeats = 1
    payload = TaskCreated(task_id=await world.task(sources=SOURCES), slip=slip)
    await world.bus.publish(events.fact("parser", "task-1", payload, clock=world.clock))
    assert await world.deliver("runner-task_created") == ["failed"]
    failure = (await world.books.experiments.get("e-1")).failure
    assert "huggingface/openai/gsm8k" in failure
    assert await world.books.runs.ids() == []


async def test_an_image_is_for_the_operator_to_offer(tmp_path: Path) -> None:
    world = World(tmp_path / "work", images=("agents/*",))
    agents, task = Agents(world.books.agents, world.objects, world.clock), await world.task()

    async def submit_in(image: str) -> None:
        agent = await agents.submit(AgentDefinition("an-agent", ("conclude",), image=image))
        await world.experiments.submit("", (task,), plan_pb2.Plan(agents=[agent.id], repeats=1))

    await submit_in("agents/mine:3")
    with pytest.raises(FiretrialError, match="FIRETRIAL_RUNNER_AGENT_IMAGES") as raised:
        await submit_in("firetrial-judge:latest")
    assert [(fault.field, fault.value) for fault in raised.value.faults] == [
        ("image", "firetrial-judge:latest")
    ]
    await world.deliver()
    assert [spec.image for spec in world.sandbox.started] == ["agents/mine:3"]
