"""The contract of sandboxes with a gateway: it answers inside, and the clock can be stopped meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firetrial_runner.sandbox.port import Limits, Termination
from support.greeter import Greeter
from support.sandboxes import KINDS, Rig, make_rig, read_all


@pytest.fixture(params=KINDS)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    rig = make_rig(request.param)
    yield rig
    await rig.sandbox.aclose()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def left_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def test_each_command_reaches_its_own_gateway(rig: Rig, tmp_path: Path) -> None:
    said = []
    gateways = [Greeter("one"), Greeter("two")]
    processes = []
    for number, gateway in enumerate(gateways):
        place = tmp_path / f"w{number}"
        place.mkdir()
        processes.append(await rig.sandbox.start(rig.spec("call", place, f"r{number}", gateway=gateway)))
    for process in processes:
        said.append((await read_all(process))[0].decode())
        assert (await process.wait()).code == 0
    assert said == ["hello from one\n", "hello from two\n"]
    for gateway in gateways:
        await gateway.aclose()
    assert left_in(tmp_path) == ["w0", "w1"]
    assert await rig.left() == []


async def test_what_the_run_says_of_its_environment_stands(rig: Rig, workspace: Path) -> None:
    (workspace / "in.txt").write_text("in")
    note = workspace.with_name("note")
    note.mkdir()
    (note / "note").write_text("note")
    gateway = Greeter("one")
    spec = rig.spec("look", workspace, gateway=gateway, env={"GIVEN": "env"}, read_only={"/given": note})
    stdout, _ = await read_all(await rig.sandbox.start(spec))
    assert stdout == b"env in note\n"
    await gateway.aclose()


async def test_a_command_that_is_not_there_ends_as_ever(rig: Rig, workspace: Path) -> None:
    gateway = Greeter("one")
    end = await (await rig.sandbox.start(rig.spec("nonesuch", workspace, gateway=gateway))).wait()
    assert (end.termination, end.code) == (Termination.EXITED, 127)
    await gateway.aclose()


async def test_the_clock_stands_while_it_is_stopped(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("sleep", workspace, limits=Limits(wall_s=2)))
    process.pause()
    process.pause()
    await asyncio.sleep(1)
    process.resume()
    await asyncio.sleep(0.2)
    process.resume()
    end = await process.wait()
    assert end.termination is Termination.TIMED_OUT
    assert 3.1 <= end.usage.wall_s < 6
    process.pause()
    process.resume()


async def test_the_clock_can_be_stopped_for_as_long_again_at_most(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("sleep", workspace, limits=Limits(wall_s=1)))
    process.pause()
    end = await process.wait()
    assert end.termination is Termination.TIMED_OUT
    assert 1.9 <= end.usage.wall_s < 5
