"""What a run left, page by page, by its index and without one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.files import MAX_PAGE, Files
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from unit.runner.world import World


async def _lines(inside: Inside) -> int:
    for number in range(5_000):
        await inside.write(f"line {number} {'.' * 500}\n".encode())
    (inside.workspace / "conclusion.md").write_text("done")
    return 0


async def run_of_lines(world: World) -> tuple[World, str]:
    world = world.again(FakeSandbox({"lines": _lines}))
    (run,) = await world.submit("lines")
    assert await world.deliver() == ["done"]
    return world, run.id


def numbers(lines: bytes) -> list[int]:
    return [json.loads(line)["step"] for line in lines.splitlines()]


@pytest.mark.parametrize("index", ["written", "missing"])
async def test_pages_with_and_without_an_index(world: World, index: str) -> None:
    world, run_id = await run_of_lines(world)
    key = f"runs/runs/{run_id}/trajectory.json.gz"
    assert key in world.objects.held
    if index == "missing":
        del world.objects.held[key]
    files = Files(world.books, world.objects)
    found, following = [], 1
    while following:
        page = await files.page(run_id, following, 1000)
        found += numbers(page.lines)
        following = page.next_step
    assert found == list(range(1, page.total + 1))
    assert page.total > 5_000
    assert numbers((await files.page(run_id, 4_321, 2)).lines) == [4_321, 4_322]
    assert len(numbers((await files.page(run_id, 0, 0)).lines)) == 100
    assert (await files.page(run_id, page.total + 1, 5)).lines == b""
    streamed = [lines async for lines in files.trajectory(run_id, 4_990, follow=False)]
    assert numbers(b"".join(streamed)) == list(range(4_990, page.total + 1))
    followed = [lines async for lines in files.trajectory(run_id, 4_990, follow=True)]
    assert followed == streamed


async def test_a_page_of_a_run_that_goes_on(world: World) -> None:
    async def wait(inside: Inside) -> int:
        await inside.write(b"up\n")
        await inside.sleep(60)
        return 0

    world = world.again(FakeSandbox({"wait": wait}))
    (run,) = await world.submit("wait")
    files = Files(world.books, world.objects)
    assert await files.page(run.id, 1, 10) == await files.page(run.id, 7, 10)
    working = asyncio.create_task(world.deliver())
    try:
        async with asyncio.timeout(15):
            while not (page := await files.page(run.id, 1, 10)).total:
                world.clock.advance(1)
                await asyncio.sleep(0.05)
        assert page.next_step == 0
        assert numbers(page.lines) == list(range(1, page.total + 1))
    finally:
        await world.dispatch.cancel(run.id)
        await working


async def test_every_fault_of_a_request_is_told(world: World) -> None:
    request = pb.ListStepsRequest(run_id="r-1", from_step=-1, page_size=MAX_PAGE + 1)
    with pytest.raises(FiretrialError) as caught:
        await world.servicer.ListSteps(request, None)
    assert [fault.field for fault in caught.value.faults] == ["from_step", "page_size"]
    with pytest.raises(FiretrialError) as caught:
        await world.servicer.ListSteps(pb.ListStepsRequest(run_id="r-1"), None)
    assert caught.value.reason is Reason.NOT_FOUND


async def test_a_page_by_its_rpc(world: World) -> None:
    world, run_id = await run_of_lines(world)
    answer: Any = await world.servicer.ListSteps(
        pb.ListStepsRequest(run_id=run_id, from_step=3, page_size=2), None
    )
    assert (numbers(answer.lines), answer.next_step) == ([3, 4], 5)
    assert len(answer.lines) < 1024 * 1024
