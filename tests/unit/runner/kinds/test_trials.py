"""Sealed tests as a runner carries them out: once, by one, and told whatever comes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from firetrial.artifact.v1 import artifact_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events
from firetrial_kit.bus import Outgoing
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from support.tars import tarred
from unit.runner.world import PROGRAMS, TTL_S, World, until

TEST = "runner-test-default"
RESULTS = {"line": {"means": {"mae_mean": 1.0}}}


async def _test(inside: Inside) -> int:
    assert (inside.workspace / "model.py").read_text() == "model"
    assert inside.env.get("FIRETRIAL_STEP_TOKEN") is None
    (inside.workspace / "results.json").write_text(json.dumps(RESULTS))
    await inside.write(b"tested\n")
    return 0


async def _predict(inside: Inside) -> int:
    (inside.workspace / "predictions.json").write_text("[1]")
    (inside.workspace / "results.json").write_text('{"forged": 1}')
    return 0


async def _score(inside: Inside) -> int:
    assert not (inside.workspace / "model.py").exists()
    assert (inside.workspace / "predictions.json").read_text() == "[1]"
    (inside.workspace / "results.json").write_text(json.dumps(RESULTS))
    return 0


async def _link(inside: Inside) -> int:
    (inside.workspace / "results.json").symlink_to("/etc/passwd")
    return 0


async def _bulk(inside: Inside) -> int:
    (inside.workspace / "results.json").write_bytes(b"1" * (2 << 20))
    return 0


async def _heavy(inside: Inside) -> int:
    for number in range(5):
        with (inside.workspace / f"{number}.csv").open("wb") as file:
            file.truncate(60 << 20)
    return 0


async def _weigh(inside: Inside) -> int:
    there = sum((inside.workspace / f"{number}.csv").exists() for number in range(5))
    (inside.workspace / "results.json").write_text(json.dumps({"there": there}))
    return 0


OWN = {
    "heavy": _heavy,
    "weigh": _weigh,
    "test": _test,
    "predict": _predict,
    "score": _score,
    "link": _link,
    "bulk": _bulk,
}


def new(folder: Path) -> World:
    return World(folder, sandbox=FakeSandbox({**PROGRAMS, **OWN}))


async def ask(world: World, *command: str, attempt: int = 1, **more: Any) -> Outgoing:
    """What a judge asks for; gives the message."""
    ref = await put(world, "files", ("model.py", b"model"))
    event = events_pb2.TestRequested(
        run_id="r-1", files=ref, command=command, results_file="results.json", attempt=attempt, **more
    )
    work = events.work("judge", "default", "r-1", event, clock=world.clock, attempt=attempt)
    await world.bus.publish(work)
    return work


async def put(world: World, name: str, *files: tuple[str, bytes]) -> artifact_pb2.ArtifactRef:
    ref = await world.objects.put("sealed", f"j-1/{name}.tar", tarred(*files), "application/x-tar")
    return artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size)


def told(world: World) -> list[events_pb2.TestFinished]:
    return [events_pb2.TestFinished.FromString(data) for data in world.facts("test_finished")]


async def test_a_test_is_run_kept_and_told(tmp_path: Path) -> None:
    world = new(tmp_path)
    await ask(world, "test")
    assert await world.deliver(TEST) == ["done"]
    (end,) = told(world)
    assert (end.run_id, end.attempt, end.infra_failure) == ("r-1", 1, "")
    assert (end.exit.termination, end.exit.code) == (run_pb2.TERMINATION_EXITED, 0)
    assert json.loads(await world.objects.get(end.results.uri, sha256=end.results.sha256)) == RESULTS
    assert await world.objects.get(end.output.uri) == b"tested\n"
    assert not list(tmp_path.glob("test-*"))  # noqa: ASYNC240 -- in a test


async def test_what_is_scored_apart_sees_outputs_and_no_code_of_the_agents(tmp_path: Path) -> None:
    world = new(tmp_path)
    score = await put(world, "score", ("score.py", b"score"))
    await ask(world, "predict", score_command=["score"], score_files=score, outputs=["predictions.json"])
    assert await world.deliver(TEST) == ["done"]
    (end,) = told(world)
    assert json.loads(await world.objects.get(end.results.uri)) == RESULTS
    assert list(end.findings) == ["results.json was written where no results are made; it is not used"]


async def test_outputs_are_carried_over_as_far_as_memory_has_room(tmp_path: Path) -> None:
    world = new(tmp_path)
    score = await put(world, "score", ("score.py", b"score"))
    outputs = [f"{number}.csv" for number in range(5)]
    await ask(world, "heavy", score_command=["weigh"], score_files=score, outputs=outputs)
    assert await world.deliver(TEST) == ["done"]
    (end,) = told(world)
    assert json.loads(await world.objects.get(end.results.uri)) == {"there": 4}
    assert list(end.findings) == [f"4.csv has more than {16 << 20} bytes"]


async def test_redelivery_runs_nothing_and_tells_the_same(tmp_path: Path) -> None:
    world = new(tmp_path)
    work = await ask(world, "test")
    await world.deliver(TEST)
    started = len(world.sandbox.started)
    world.bus.redeliver(world.consumer(TEST), work)
    assert await world.deliver(TEST) == ["done"]
    assert len(world.sandbox.started) == started
    value = world.registry.get_sample_value
    assert value("firetrial_sealed_tests_total", {"result": "measured"}) == 1
    assert value("firetrial_sealed_test_seconds_count") == 1
    assert len({end.SerializeToString() for end in told(world)}) == 1


async def test_a_test_in_other_hands_waits_and_is_taken_over_from_the_dead(tmp_path: Path) -> None:
    first = new(tmp_path / "one")
    work = await ask(first, "sleep")
    busy = asyncio.create_task(first.deliver(TEST))
    await until(lambda: _has(first.sandbox.started))
    second = World(
        tmp_path / "two",
        sandbox=FakeSandbox({**PROGRAMS, **OWN, "sleep": _test}),
        bus=first.bus,
        state=first.state,
        objects=first.objects,
        clock=first.clock,
    )
    second.bus.redeliver(second.consumer(TEST), work)
    assert await second.deliver(TEST) == ["later"]
    assert told(second) == []
    first.clock.advance(TTL_S + 1)
    second.bus.redeliver(second.consumer(TEST), work)
    assert await second.deliver(TEST) == ["done"]
    assert len(told(second)) == 1
    busy.cancel()
    await asyncio.gather(busy, return_exceptions=True)
    assert len(told(second)) == 1


async def _has(things: list[Any]) -> bool:
    return bool(things)


async def test_a_drained_runner_gives_its_test_back(tmp_path: Path) -> None:
    world = new(tmp_path)
    work = await ask(world, "sleep")
    busy = asyncio.create_task(world.deliver(TEST))
    await until(lambda: _has(world.sandbox.started))
    busy.cancel()
    await asyncio.gather(busy, return_exceptions=True)
    other = world.again(FakeSandbox({**PROGRAMS, **OWN, "sleep": _test}))
    other.bus.redeliver(other.consumer(TEST), work)
    assert "done" in await other.deliver(TEST)
    assert len(told(other)) == 1


async def test_a_lost_sandbox_is_told_as_infrastructures_failure(tmp_path: Path) -> None:
    world = new(tmp_path)
    await ask(world, "vanish")
    assert await world.deliver(TEST) == ["done"]
    (end,) = told(world)
    assert "told to vanish" in end.infra_failure
    assert not end.HasField("exit")
    await ask(world, "test", attempt=2)
    await world.deliver(TEST)
    assert [end.attempt for end in told(world)] == [1, 2]
    assert told(world)[1].infra_failure == ""


@pytest.mark.parametrize(
    ("program", "finding"),
    [
        ("link", "results.json is a link, or lies behind one; it is not followed"),
        ("bulk", "results.json has more than 1048576 bytes"),
    ],
)
async def test_results_that_are_none_are_told_and_not_kept(
    tmp_path: Path, program: str, finding: str
) -> None:
    world = new(tmp_path)
    await ask(world, program)
    await world.deliver(TEST)
    (end,) = told(world)
    assert (list(end.findings), end.HasField("results"), end.exit.code) == ([finding], False, 0)


@pytest.mark.parametrize(
    "broken",
    [
        {"command": []}, {"results_file": "../x"}, {"results_file": ""}, {"score_command": ["x"]},
        {"outputs": ["/etc/passwd"]}, {"files": artifact_pb2.ArtifactRef(uri="runs/x")},
    ],
)  # fmt: skip
async def test_what_cannot_be_run_is_told_as_failed(tmp_path: Path, broken: dict[str, Any]) -> None:
    world = new(tmp_path)
    ref = await put(world, "files", ("model.py", b"model"))
    fields = {"files": ref, "command": ["test"], "results_file": "results.json", **broken}
    event = events_pb2.TestRequested(run_id="r-1", attempt=1, **fields)
    await world.bus.publish(events.work("judge", "default", "r-1", event, clock=world.clock))
    assert await world.deliver(TEST) == ["failed"]
    (end,) = told(world)
    assert "is not valid" in end.infra_failure
    assert world.sandbox.started == []


async def test_a_poison_message_is_dropped(tmp_path: Path) -> None:
    world = new(tmp_path)
    for data in (b"\xff\xff", b""):
        world.bus.redeliver(world.consumer(TEST), Outgoing("ft.work.test.default", data, f"m{len(data)}"))
    assert await world.deliver(TEST) == ["failed", "failed"]
    assert told(world) == []


async def test_files_that_are_gone_and_environments_that_are_not_offered_are_no_fault_of_the_agent(
    tmp_path: Path,
) -> None:
    world = new(tmp_path)
    await ask(world, "test", environment="fml-opacus")
    await ask(world, "test", attempt=2)
    world.objects.held.clear()
    assert await world.deliver(TEST) == ["done", "done"]
    offered, gone = told(world)
    assert "does not offer the environment 'fml-opacus'" in offered.infra_failure
    assert "there is no object" in gone.infra_failure


async def test_a_store_that_is_away_makes_the_test_wait(tmp_path: Path) -> None:
    world = new(tmp_path)
    await ask(world, "test")
    world.objects.fail_next = FiretrialError(Reason.UNAVAILABLE, "away")
    assert await world.deliver(TEST) == ["later", "done"]
    assert [end.infra_failure for end in told(world)] == [""]
