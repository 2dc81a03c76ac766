"""Steps of a run on a fake sandbox: what is lost is repeated, and floods are held."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import ParseDict

from firetrial.artifact.v1 import artifact_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import DEFAULT_MAX_SIZE
from firetrial_runner.kinds.pinned import Pinned
from firetrial_runner.kinds.repository import MAX_STEPS, MAX_TEXT, HandIn, Metric, Repository
from firetrial_runner.kinds.steps import Keeping, Made, Steps
from firetrial_runner.kinds.validation import Validator
from firetrial_runner.run import Outcome, Run, RunState
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from firetrial_runner.trajectory import lines_of
from support import repositories
from support.repositories import BEST, BETTER
from unit.runner.world import World


class Lab:
    """A fake sandbox whose validations do as they are told, and whose agent is a coroutine of the test's."""

    def __init__(self, folder: Path) -> None:
        self.lose = self.validations = 0
        self.takes_s = 0.01
        self.answers: list[tuple[int, dict[str, Any]]] = []
        programs = {"agent": self._agent, "python3": self._validate}
        self.world = World(folder, sandbox=FakeSandbox(programs))
        self.steps: Any = None

    async def _agent(self, inside: Inside) -> int:
        await self.steps(inside)
        return 0

    async def _validate(self, inside: Inside) -> int:
        self.validations += 1
        if self.lose:
            self.lose -= 1
            inside.vanish()
        text = (inside.workspace / "model.py").read_text()
        await inside.sleep(self.takes_s)
        found = {"line": {"means": {"mae_mean": 1.0 if text == BETTER else 0.0}}}
        (inside.workspace / "results.json").write_text(json.dumps(found))
        return 0

    async def hand_in(self, inside: Inside, text: str, timeout: float = 30, **headers: str) -> int:
        told = {"authorization": f"Bearer {inside.env['FIRETRIAL_STEP_TOKEN']}", **headers}
        body = {"idea": "x", "files": {"model.py": text}}
        async with httpx.AsyncClient(timeout=timeout) as client:
            answer = await client.post(inside.env["FIRETRIAL_STEP_URL"], json=body, headers=told)
        self.answers.append((answer.status_code, answer.json()))
        return answer.status_code

    async def submit(self, *, source: bool = True, **spec: Any) -> Run:
        made = repositories.made(apart=False, **spec)
        task = task_pb2.Task().repository
        ParseDict(made.spec, task)
        ref = await self.world.objects.put(
            "runs", "tasks/task-1/source.tar", made.source, "application/x-tar"
        )
        if source:
            task.source.CopyFrom(artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size))
        agent = await self.world.agent("agent")
        id_ = await self.world.task(repository=task)
        plan = plan_pb2.Plan(agents=[agent], repeats=1)
        experiment = await self.world.experiments.submit("", (id_,), plan)
        (record,) = await self.world.experiments.runs(experiment)
        return record.run

    async def conduct(self, **spec: Any) -> Run:
        run = await self.submit(**spec)
        await self.world.dispatch.take(await self.world.books.runs.get(run.id))
        return await self.world.run(run.id)

    async def kept(self, run: Run) -> list[dict[str, Any]]:
        data = await self.world.objects.get(f"runs/runs/{run.id}/steps.jsonl")
        return [json.loads(line) for line in data.splitlines()]


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    found = Lab(tmp_path)
    yield found
    found.world.presence.leave()


async def test_a_validation_that_is_lost_is_repeated_and_is_no_failed_step(lab: Lab) -> None:
    async def steps(inside: Inside) -> None:
        lab.lose = 2
        await lab.hand_in(inside, BETTER)
        lab.lose = 3
        await lab.hand_in(inside, BEST)
        await lab.hand_in(inside, BEST)

    lab.steps = steps
    run = await lab.conduct()
    assert [status for status, _ in lab.answers] == [200, 503, 200]
    assert "by no fault of the agent" in lab.answers[1][1]["error"]
    kept = await lab.kept(run)
    assert [(step["step"], step["state"], step.get("lost", 0)) for step in kept] == [
        (1, "STATE_VALID", 2),
        (2, "STATE_VALID", 0),
    ]
    assert run.state is RunState.CONCLUDED
    value = lab.world.registry.get_sample_value
    states = {
        state: value("firetrial_repository_steps_total", {"state": state})
        for state in ("valid", "lost", "void")
    }
    assert states == {"valid": 2, "lost": 1, "void": None}
    assert value("firetrial_repository_step_seconds_count") == 3


async def test_steps_at_the_same_time_are_made_one_after_another_and_too_many_are_refused(lab: Lab) -> None:
    async def steps(inside: Inside) -> None:
        await asyncio.gather(*(lab.hand_in(inside, BETTER) for _ in range(20)))

    lab.steps = steps
    run = await lab.conduct()
    statuses = [status for status, _ in lab.answers]
    assert set(statuses) == {200, 429}
    assert statuses.count(200) == len(await lab.kept(run)) == lab.validations <= 5


async def test_the_door_opens_for_the_runs_own_token_and_holds_against_a_flood(lab: Lab) -> None:
    async def steps(inside: Inside) -> None:
        url = inside.env["FIRETRIAL_STEP_URL"]
        for given in ("", "Bearer x", f"Basic {inside.env['FIRETRIAL_STEP_TOKEN']}"):
            assert await lab.hand_in(inside, BETTER, authorization=given) == 401
        port = int(url.split(":")[2].split("/")[0])
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
        shut = 0
        for reader, _ in held:
            try:
                shut += await asyncio.wait_for(reader.read(1), 0.01) == b""
            except TimeoutError:
                continue
            except ConnectionResetError:
                shut += 1
        assert shut >= 30
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.1)
        assert await lab.hand_in(inside, BETTER) == 200

    lab.steps = steps
    run = await lab.conduct()
    assert (run.state, run.reason) == (RunState.CONCLUDED, "")


async def test_a_source_that_is_no_archive_is_no_fault_of_the_agent(lab: Lab) -> None:
    async def steps(_: Inside) -> None:
        """Never begun."""

    lab.steps = steps
    run = await lab.conduct(protected_files=["gone.py"])
    assert (run.outcome, run.superseded) == (Outcome.INFRA_FAILED, False)
    assert "no file that the task protects" in run.reason


async def test_a_task_whose_repository_or_environment_is_not_at_hand_is_refused_before_it_starts(
    lab: Lab,
) -> None:
    for lacking, field in (({"environment": "fml-opacus"}, "environment"), ({}, "repository")):
        with pytest.raises(FiretrialError) as fault:
            await lab.submit(source=field != "repository", **lacking)
        assert fault.value.reason is Reason.PRECONDITION
        assert [one.field for one in fault.value.faults] == [f"{field} of task-1"]


async def test_a_thousand_steps_as_large_as_can_be_are_still_read_whole(lab: Lab) -> None:
    async def steps(inside: Inside) -> None:
        names = {f"{n:\x01<200}" + "\u20ac" * 100: "" for n in range(2000)}
        body = {"idea": "\x01" * 9000, "files": {"model.py": BETTER, **names}}
        told = {"authorization": f"Bearer {inside.env['FIRETRIAL_STEP_TOKEN']}"}
        async with httpx.AsyncClient(timeout=30) as client:
            answer = await client.post(inside.env["FIRETRIAL_STEP_URL"], json=body, headers=told)
        lab.answers.append((answer.status_code, answer.json()))

    lab.steps = steps
    run = await lab.conduct()
    ((status, told),) = lab.answers
    assert (status, told["state"]) == (200, "void")
    assert told["findings"][-1].startswith("and ")
    data = await lab.world.objects.get(f"runs/runs/{run.id}/steps.jsonl")
    assert len(data) * MAX_STEPS < DEFAULT_MAX_SIZE


def alone(folder: Path, keeping: Keeping, *targets: str) -> Steps:
    """Steps of a run whose validations are never begun."""
    task = Repository(None, targets, (), ("x",), Metric("m", (), "r.json"))
    place: Any = None
    (folder / "source").mkdir()
    validator = Validator(task, Pinned.of(folder / "source", task), place, nullcontext)
    return Steps("r", validator, folder, keeping, tokens=lambda: None, offset=lambda: 0.0)


async def test_texts_of_nothing_but_lines_take_little_memory(tmp_path: Path) -> None:
    async def kept(*_: object) -> None:
        """Gone."""

    names = ("a", "b", "c", "d")
    steps = alone(tmp_path, Keeping(kept, kept, kept, lambda *_: None), *names)
    tracemalloc.start()
    try:
        answer = await steps.take(
            HandIn("x", {"no target": "", **dict.fromkeys(names, "\n" * (MAX_TEXT // 8))})
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (answer.made.state, answer.made.added) == ("void", MAX_TEXT // 2)
    assert peak < 24 * 1024 * 1024


async def test_a_step_that_is_being_kept_when_the_run_ends_is_kept_whole(tmp_path: Path) -> None:
    stored, storing, go_on = list[str](), asyncio.Event(), asyncio.Event()

    async def text(_: str, __: bytes) -> None:
        stored.append("text")

    async def all_steps(_: list[Made]) -> None:
        storing.set()
        await go_on.wait()
        stored.append("steps")

    async def tell(told: str, _: object) -> None:
        stored.append(told.partition(":")[0])

    keeping = Keeping(text, all_steps, tell, lambda *_: None)
    steps = alone(tmp_path, keeping, "m.py")
    taking = asyncio.create_task(steps.take(HandIn("x", {"m.py": "def broken(:"})))
    await storing.wait()
    taking.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert stored == ["text", "steps", "step 1"]
    assert steps.summary().startswith("1 steps")


async def test_a_step_under_way_when_the_agent_ends_does_not_count_and_is_told(lab: Lab) -> None:
    async def steps(inside: Inside) -> None:
        lab.takes_s = 1.0
        with pytest.raises(httpx.ReadTimeout):
            await lab.hand_in(inside, BETTER, timeout=0.2)

    lab.steps = steps
    run = await lab.conduct()
    assert (lab.validations, run.outcome) == (1, Outcome.AGENT_FAILED)
    assert f"runs/runs/{run.id}/steps.jsonl" not in lab.world.objects.held
    lines = lines_of(await lab.world.objects.get(f"runs/runs/{run.id}/trajectory/0000000001.jsonl.gz"))
    assert b"step 1 was under way when the run ended" in lines
