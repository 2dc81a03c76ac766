"""The SDK against real gRPC: deadlines, retries, pages, uploads, and watches that outlive a restart."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from firetrial.parser.v1 import paper_pb2, task_pb2
from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial.parser.v1.parser_service_pb2_grpc import ParserServiceStub
from firetrial.plan.v1.plan_pb2 import JudgeConfig
from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, FiretrialError, demo, make_plan
from firetrial_client.endpoints import SERVICES
from firetrial_client.uploads import PIECE
from firetrial_kit import errors as kit
from unit.client.fakes import LIMIT, Server, World, refuse


def run(number: int, state: run_pb2.RunState.ValueType = run_pb2.RUN_STATE_RUNNING) -> run_pb2.Run:
    return run_pb2.Run(id=f"r-{number}", experiment_id="e-1", state=state)


def slow(_id: str, _context: Any) -> run_pb2.Run:
    time.sleep(0.6)
    return run(1)


async def test_calls_carry_a_deadline_and_a_trace(server: Server, world: World) -> None:
    world.runs["r-1"] = run(1)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with AsyncFiretrial(server.endpoint, timeout=7, traceparent=trace) as client:
        assert (await client.get_run("r-1")).id == "r-1"
        await client.get_run("r-1")
    assert all(6 < left < 7.1 for left in world.deadlines)
    sent = [metadata["traceparent"].split("-") for metadata in world.metadata]
    assert {parts[1] for parts in sent} == {"0af7651916cd43dd8448eb211c80319c"}
    assert len({parts[2] for parts in sent}) == 2


async def test_each_call_is_a_trace_of_its_own_without_one(client: AsyncFiretrial, world: World) -> None:
    world.runs["r-1"] = run(1)
    for _ in range(2):
        await client.get_run("r-1")
    assert len({metadata["traceparent"] for metadata in world.metadata}) == 2


async def test_a_service_that_does_not_answer_in_time(server: Server, world: World) -> None:
    world.get_run = slow
    async with AsyncFiretrial(server.endpoint, timeout=0.2) as client:
        with pytest.raises(FiretrialError) as caught:
            await client.get_run("r-1")
    assert caught.value.reason == "DEADLINE"
    assert "runner" in caught.value.message


async def test_unavailable_is_tried_again(client: AsyncFiretrial, world: World) -> None:
    def second_time(id_: str, context: Any) -> run_pb2.Run:
        if world.calls.count("GetRun") == 1:
            refuse(context, kit.FiretrialError(kit.Reason.UNAVAILABLE, "starting"))
        return run(1)

    world.get_run = second_time
    assert (await client.get_run("r-1")).id == "r-1"
    assert world.calls.count("GetRun") == 2


@pytest.mark.parametrize("reason", [kit.Reason.INTERNAL, kit.Reason.EXHAUSTED, kit.Reason.CONFLICT])
async def test_nothing_else_is_tried_again(reason: kit.Reason, client: AsyncFiretrial, world: World) -> None:
    world.get_run = lambda _, context: refuse(context, kit.FiretrialError(reason, "no"))
    with pytest.raises(FiretrialError):
        await client.get_run("r-1")
    assert world.calls.count("GetRun") == 1


async def test_no_server(server: Server) -> None:
    server.stop()
    async with AsyncFiretrial(server.endpoint) as client:
        with pytest.raises(FiretrialError, match="firetrial up") as caught:
            await client.get_run("r-1")
        assert caught.value.reason == "UNAVAILABLE"
        assert server.endpoint in caught.value.message
        health = await client.health()
    assert set(health) == set(SERVICES)
    assert "serving" not in health.values()


async def test_health(client: AsyncFiretrial) -> None:
    assert await client.health() == dict.fromkeys(SERVICES, "serving")


async def test_what_moved_is_found_again(server: Server, world: World, tmp_path: Path) -> None:
    """`firetrial down` and `up` give other ports; a client that lives on learns them."""
    world.runs["r-1"] = run(1)
    elsewhere = Server(world)
    file = tmp_path / "endpoints.json"
    try:
        file.write_text(json.dumps(dict.fromkeys(SERVICES, server.endpoint)))
        async with AsyncFiretrial(environ={"FIRETRIAL_HOME": str(tmp_path)}) as client:
            await client.get_run("r-1")
            server.stop()
            file.write_text(json.dumps(dict.fromkeys(SERVICES, elsewhere.endpoint)))
            assert (await client.get_run("r-1")).id == "r-1"
    finally:
        elsewhere.stop()


async def test_lists_go_through_all_pages(client: AsyncFiretrial, world: World) -> None:
    for number in range(5):
        world.tasks[f"t-{number}"] = task_pb2.Task(id=f"t-{number}")
    assert [task.id async for task in client.list_tasks()] == [f"t-{number}" for number in range(5)]
    assert [found.id async for found in client.list_judgements()] == [f"j-{number}" for number in range(5)]
    assert [found async for found in client.list_papers()] == []


async def test_a_page_is_fetched_only_when_it_is_needed(client: AsyncFiretrial, world: World) -> None:
    for number in range(9):
        world.tasks[f"t-{number}"] = task_pb2.Task(id=f"t-{number}")
    async for _ in client.list_tasks():
        break
    assert world.calls.count("ListTasks") == 1


async def test_a_paper_arrives_as_it_is(client: AsyncFiretrial, world: World, tmp_path: Path) -> None:
    body = bytes(range(256)) * (3 * PIECE // 256) + b"end"
    path = tmp_path / "study.pdf"
    path.write_bytes(body)
    answer = await client.submit_paper(path, plan=make_plan(["a@1"]), request_id="again")
    assert world.uploads == [body]
    assert (world.headers[0].filename, world.headers[0].size) == ("study.pdf", len(body))
    assert world.headers[0].request_id == "again"
    assert answer.experiment_id.startswith("e-")
    alone = await client.submit_paper(b"# Notes", filename="notes.md")
    assert alone.experiment_id == ""
    assert not world.headers[1].HasField("plan")
    assert (await client.get_paper(alone.paper.id)).filename == "notes.md"


async def test_a_paper_that_is_too_large_is_refused_before_it_is_sent(
    client: AsyncFiretrial, tmp_path: Path
) -> None:
    path = tmp_path / "large.pdf"
    with path.open("wb") as file:
        file.truncate(500 * 1024**2)
    began = time.monotonic()
    with pytest.raises(FiretrialError, match=f"at most {LIMIT}") as caught:
        await client.submit_paper(path)
    assert caught.value.faults[0].field == "size"
    assert time.monotonic() - began < 2


async def test_sending_stops_when_the_service_has_answered(client: AsyncFiretrial, world: World) -> None:
    world.answer_after = PIECE
    read = 0

    class Counting:
        def read(self, size: int) -> bytes:
            nonlocal read
            read += size
            return bytes(size) if read <= 60 * 1024**2 else b""

    answer = await client._upload(
        "parser",
        lambda channel: ParserServiceStub(channel).SubmitPaper,
        pb.SubmitPaperRequest(header=pb.PaperHeader(size=60 * 1024**2)),
        Counting(),  # type: ignore[arg-type]
        lambda chunk: pb.SubmitPaperRequest(chunk=chunk),
    )
    assert answer.paper.id
    assert read < 60 * 1024**2


async def test_an_upload_that_is_cancelled_ends_at_once(client: AsyncFiretrial, world: World) -> None:
    class Endless:
        def read(self, size: int) -> bytes:
            time.sleep(0.01)
            return bytes(size)

    task = asyncio.create_task(
        client._upload(
            "parser",
            lambda channel: ParserServiceStub(channel).SubmitPaper,
            pb.SubmitPaperRequest(header=pb.PaperHeader(size=1)),
            Endless(),  # type: ignore[arg-type]
            lambda chunk: pb.SubmitPaperRequest(chunk=chunk),
        )
    )
    while not world.headers:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(5):
            await task


async def test_a_task_with_its_data(client: AsyncFiretrial, world: World, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("1,2")
    answer = await client.submit_task(
        "noise", question="How?", instruction="Find out.", ground_truth="Like so.", broken=["no seed"],
        origin="firebench", data=tmp_path / "data", sources=["hf:openai/gsm8k", "mine/a.csv"],
    )  # fmt: skip
    assert world.headers[0].data_size == len(world.uploads[0]) > 0
    assert b"a.csv" in world.uploads[0]
    assert list(answer.task.broken) == ["no seed"]
    hub, mine = world.headers[0].sources
    assert (hub.hugging_face, mine.path) == ("openai/gsm8k", "mine/a.csv")
    assert (await client.get_task(answer.task.id)).has_truth


async def test_agents(client: AsyncFiretrial, world: World) -> None:
    agent = await client.submit_agent(demo.agents()[0])
    assert agent.name == "scripted-careful"
    assert "agent.py" in [file.path for file in world.headers[0].files]
    other = await client.submit_agent(name="echo", command=["echo", "hi"], files={"x": b"1"})
    assert list(other.command) == ["echo", "hi"]
    assert [found.id async for found in client.list_agents()] == [agent.id, other.id]
    assert (await client.get_agent(agent.id)).name == "scripted-careful"


async def test_an_experiment_to_its_report(client: AsyncFiretrial, world: World) -> None:
    world.tasks["t-1"] = task_pb2.Task(id="t-1")
    experiment = await client.submit_experiment(["t-1"], make_plan(["a@1", "b@2"], repeats=2))
    runs = [found.id async for found in client.watch_runs(experiment.id)]
    assert len(runs) == 4 == len([found async for found in client.list_runs(experiment.id)])
    reports = [report async for report in client.watch_report(experiment.id)]
    assert reports[-1].complete
    assert await client.render_report(experiment.id, "md") == b"report as markdown\n"
    assert (await client.get_analysis("r-1")).run_id == "r-1"
    await client.cancel_experiment(experiment.id)
    await client.cancel_run(runs[0])
    assert world.cancelled == [experiment.id, runs[0]]


async def test_an_experiment_on_tasks_that_do_not_exist(client: AsyncFiretrial) -> None:
    with pytest.raises(FiretrialError) as caught:
        await client.submit_experiment(["t-1", "t-2"], make_plan(["a@1"]))
    assert caught.value.reason == "NOT_FOUND"
    assert [fault.field for fault in caught.value.faults] == ["task_ids[0]", "task_ids[1]"]


async def test_a_format_that_does_not_exist(client: AsyncFiretrial) -> None:
    with pytest.raises(FiretrialError, match="html, md, json"):
        await client.render_report("e-1", "docx")


async def test_what_a_run_left(client: AsyncFiretrial) -> None:
    assert await client.conclusion("r-1") == "Noise hurts \ufffd k = 1.\x1b[2J\n"
    assert b"".join([chunk async for chunk in client.artifacts("r-1")]) == b"tar" * 9


async def test_judging_texts(client: AsyncFiretrial) -> None:
    config = JudgeConfig(backend=JudgeConfig.BACKEND_OFFLINE)
    found = await client.score_text("It falls.", "It falls by half.", config=config)
    assert (found.config.backend, found.scores.recall) == (JudgeConfig.BACKEND_OFFLINE, 0.5)
    with pytest.raises(FiretrialError):
        await client.get_judgement("j-none")


async def test_a_run_is_judged_again(client: AsyncFiretrial, world: World) -> None:
    world.runs["r-1"] = run(1)
    config = JudgeConfig(mode=JudgeConfig.MODE_SET)
    found = await client.judge_run("r-1", config=config)
    assert (found.run_id, found.config.mode) == ("r-1", JudgeConfig.MODE_SET)
    with pytest.raises(FiretrialError) as caught:
        await client.judge_run("r-none")
    assert caught.value.reason == "NOT_FOUND"


async def test_a_judge_is_described_and_calibrated(client: AsyncFiretrial) -> None:
    config = JudgeConfig(model="m")
    described = await client.describe_judge(config)
    assert (described.config, described.config_hash, described.calibration_id) == (config, "h", "c-1")
    made = await client.calibrate(b"labels", config=config)
    assert (made.id, made.items, made.config) == ("c-1", 6, config)
    assert (await client.get_calibration("c-1")).id == "c-1"
    with pytest.raises(FiretrialError, match="c-none"):
        await client.get_calibration("c-none")
    listed = [found.id async for found in client.list_calibrations()]
    assert listed == [f"c-{number}" for number in range(5)]


async def test_a_submission_is_graded(client: AsyncFiretrial) -> None:
    grade = await client.grade_submission(b"id: a", b"tar")
    assert (grade.id, list(grade.notes)) == ("g-1", ["5 3"])


async def test_watched_judgements_come_once_each(client: AsyncFiretrial) -> None:
    found = [(judgement.id, judgement.run_id) async for judgement in client.watch_judgements("e-1")]
    assert found == [("j-1", "e-1-r"), ("j-2", "e-1-r")]


async def test_a_watched_paper(client: AsyncFiretrial) -> None:
    paper = (await client.submit_paper(b"x", filename="x.md")).paper
    states = [found.state async for found in client.watch_paper(paper.id)]
    assert states == [paper_pb2.PAPER_STATE_READY]
    assert (await client.get_tree(paper.id)).children[0].evidence == "Table 1"


async def test_a_watch_outlives_a_restart_and_repeats_nothing(server: Server, world: World) -> None:
    def watching(_: str, context: grpc.ServicerContext) -> Iterator[run_pb2.Run]:
        yield run(1)
        yield run(2)
        if world.calls.count("WatchRuns") == 1:
            threading.Thread(target=server.restart_after, args=(0.5,)).start()
            time.sleep(30 if context.is_active() else 0)
        yield run(2, run_pb2.RUN_STATE_ENDED)

    world.watch_runs = watching
    seen = []
    async with AsyncFiretrial(server.endpoint) as client:
        async with asyncio.timeout(20):
            async for found in client.watch_runs("e-1"):
                seen.append((found.id, found.state))  # noqa: PERF401
    assert seen == [
        ("r-1", run_pb2.RUN_STATE_RUNNING),
        ("r-2", run_pb2.RUN_STATE_RUNNING),
        ("r-2", run_pb2.RUN_STATE_ENDED),
    ]
    assert world.calls.count("WatchRuns") == 2


@pytest.mark.parametrize("reason", [kit.Reason.UNAVAILABLE, kit.Reason.CANCELLED])
async def test_a_watch_outlives_a_service_that_ends_it(
    reason: kit.Reason, client: AsyncFiretrial, world: World
) -> None:
    def watching(_: str, context: Any) -> Iterator[run_pb2.Run]:
        yield run(world.calls.count("WatchRuns"))
        if world.calls.count("WatchRuns") < 3:
            refuse(context, kit.FiretrialError(reason, "stopping"))

    world.watch_runs = watching
    assert [found.id async for found in client.watch_runs("e-1")] == ["r-1", "r-2", "r-3"]


async def test_a_watch_is_given_up_when_the_service_stays_away(server: Server, world: World) -> None:
    def watching(_: str, context: Any) -> Iterator[run_pb2.Run]:
        yield run(1)
        threading.Thread(target=server.stop).start()
        time.sleep(0.5)

    world.watch_runs = watching
    async with AsyncFiretrial(server.endpoint, patience=0.5) as client:
        watch = client.watch_runs("e-1")
        assert (await anext(watch)).id == "r-1"
        with pytest.raises(FiretrialError) as caught:
            await anext(watch)
    assert caught.value.reason == "UNAVAILABLE"


async def test_a_watch_ends_with_its_time_out(client: AsyncFiretrial, world: World) -> None:
    def watching(_: str, context: grpc.ServicerContext) -> Iterator[run_pb2.Run]:
        yield run(1)
        while context.is_active():
            time.sleep(0.02)

    world.watch_runs = watching
    began = time.monotonic()
    with pytest.raises(FiretrialError) as caught:
        async for _ in client.watch_runs("e-1", timeout=0.4):
            pass
    assert caught.value.reason == "DEADLINE"
    assert 0.3 < time.monotonic() - began < 3


async def test_a_watch_waits_for_what_is_not_known_yet(client: AsyncFiretrial, world: World) -> None:
    def watching(id_: str, context: Any) -> Iterator[run_pb2.Run]:
        if world.calls.count("WatchRuns") < 3:
            refuse(context, kit.FiretrialError(kit.Reason.NOT_FOUND, "not yet"))
        yield run(1)

    world.watch_runs = watching
    assert [found.id async for found in client.watch_runs("e-1", appear=5)] == ["r-1"]
    world.watch_runs = None
    with pytest.raises(FiretrialError) as caught:
        _ = [found async for found in client.watch_runs("e-none")]
    assert caught.value.reason == "NOT_FOUND"


async def test_a_watch_that_is_left_ends_at_the_service(client: AsyncFiretrial, world: World) -> None:
    ended = threading.Event()

    def watching(_: str, context: grpc.ServicerContext) -> Iterator[run_pb2.Run]:
        context.add_callback(ended.set)
        yield run(1)
        ended.wait(10)

    world.watch_runs = watching
    watch = client.watch_runs("e-1")
    assert (await anext(watch)).id == "r-1"
    await watch.aclose()
    assert await asyncio.to_thread(ended.wait, 5)


async def test_a_closed_client_ends_its_watches_and_takes_no_calls(
    client: AsyncFiretrial, world: World
) -> None:
    def watching(_: str, context: grpc.ServicerContext) -> Iterator[run_pb2.Run]:
        yield run(1)
        while context.is_active():
            time.sleep(0.02)

    world.watch_runs = watching
    watch = client.watch_runs("e-1")
    await anext(watch)
    waiting = asyncio.create_task(anext(watch))
    await asyncio.sleep(0.1)
    await client.close()
    for call in (waiting, client.get_run("r-1"), client.submit_paper(b"x", filename="x.md")):
        with pytest.raises(FiretrialError, match="closed") as caught:
            await call
        assert caught.value.reason == "PRECONDITION"


async def test_a_cancelled_task_is_cancelled(client: AsyncFiretrial, world: World) -> None:
    """A server's CANCELLED is an error of the call; the caller's own is not."""
    world.get_run = slow
    task = asyncio.create_task(client.get_run("r-1"))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_trajectory_goes_on_where_it_was_cut(client: AsyncFiretrial, world: World) -> None:
    world.runs["r-1"] = run(1)
    steps = [json.dumps({"step": number}).encode() for number in range(1, 6)]
    world.steps["r-1"] = [*steps[:3], b"DIE", *steps[3:]]
    found = [step["step"] async for step in client.trajectory("r-1", follow=True)]
    assert found == [1, 2, 3, 4, 5]
    assert world.calls == ["GetRun", "StreamTrajectory from 1", "StreamTrajectory from 4"]
    assert [step["step"] async for step in client.trajectory("r-1", from_step=4)] == [4, 5]


async def test_an_agent_that_says_nothing_for_long_is_followed_on(
    client: AsyncFiretrial, world: World
) -> None:
    world.runs["r-1"] = run(1)
    world.steps["r-1"] = [b"SILENCE", b'{"step": 1}']
    client._span = 0.2
    assert [step["step"] async for step in client.trajectory("r-1", follow=True)] == [1]
    assert world.calls.count("StreamTrajectory from 1") == 2


async def test_a_watch_that_never_answers_is_late(client: AsyncFiretrial, world: World) -> None:
    def watching(_: str, context: grpc.ServicerContext) -> Iterator[run_pb2.Run]:
        while context.is_active():
            time.sleep(0.02)
        yield run(1)

    world.watch_runs = watching
    client._span = 0.2
    with pytest.raises(FiretrialError) as caught:
        await anext(client.watch_runs("e-1"))
    assert caught.value.reason == "DEADLINE"


async def test_a_step_that_is_no_step(client: AsyncFiretrial, world: World) -> None:
    world.steps["r-1"] = [b'{"step": 1}', b"[2]"]
    with pytest.raises(FiretrialError, match="step 2 of r-1") as caught:
        _ = [step async for step in client.trajectory("r-1")]
    assert caught.value.reason == "CORRUPT"
