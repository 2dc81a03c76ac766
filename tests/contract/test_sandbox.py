"""The contract of sandboxes: what holds for the fake holds for the real ones."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner.sandbox.port import Limits, SandboxSpec, Stream, Termination
from support.sandboxes import KINDS, MIB, Rig, make_rig, read_all


@pytest.fixture(params=KINDS)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    rig = make_rig(request.param)
    yield rig
    await rig.sandbox.aclose()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


async def test_works_here(rig: Rig) -> None:
    await rig.sandbox.probe()
    assert rig.sandbox.enforcement()


async def test_output_exit_and_usage(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("greet", workspace))
    assert await read_all(process) == (b"hello\n", b"oops\n")
    end = await process.wait()
    assert (end.termination, end.code, end.signal) == (Termination.EXITED, 0, None)
    assert end.usage.output_bytes == 11
    assert 0 < end.usage.wall_s < 20
    assert end.usage.cpu_s is None or 0 < end.usage.cpu_s < 20
    assert end.usage.max_rss_bytes is None or end.usage.max_rss_bytes > 0
    assert await process.wait() == end


async def test_exit_code(rig: Rig, workspace: Path) -> None:
    end = await (await rig.sandbox.start(rig.spec("fail", workspace))).wait()
    assert (end.termination, end.code, end.signal) == (Termination.EXITED, 3, None)


async def test_signal(rig: Rig, workspace: Path) -> None:
    end = await (await rig.sandbox.start(rig.spec("crash", workspace))).wait()
    assert (end.termination, end.code, end.signal) == (Termination.EXITED, None, 9)


async def test_program_that_is_not_there(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("nonesuch", workspace))
    _, stderr = await read_all(process)
    end = await process.wait()
    assert (end.termination, end.code) == (Termination.EXITED, 127)
    assert b"nonesuch" in stderr


async def test_time_limit(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("sleep", workspace, limits=Limits(wall_s=1.5)))
    stdout, _ = await read_all(process)
    end = await process.wait()
    assert stdout == b"up\n"
    assert (end.termination, end.code, end.signal) == (Termination.TIMED_OUT, None, None)
    assert 1.5 <= end.usage.wall_s < 10
    assert "1.5 s" in end.detail


async def test_memory_limit(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(
        rig.spec("hog", workspace, limits=Limits(wall_s=30, memory_bytes=100 * MIB))
    )
    stdout, _ = await read_all(process)
    end = await process.wait()
    assert (end.termination, end.signal) == (Termination.OOM_KILLED, 9)
    assert stdout == b""


async def test_output_limit(rig: Rig, workspace: Path) -> None:
    limits = Limits(wall_s=30, output_bytes=1_000_001)
    process = await rig.sandbox.start(rig.spec("flood", workspace, limits=limits))
    stdout, _ = await read_all(process)
    end = await process.wait()
    assert end.termination is Termination.OUTPUT_LIMIT
    assert len(stdout) == end.usage.output_bytes == 1_000_001


async def test_disk_limit(rig: Rig, workspace: Path) -> None:
    limits = Limits(wall_s=30, disk_bytes=8 * MIB)
    end = await (await rig.sandbox.start(rig.spec("fill", workspace, limits=limits))).wait()
    assert end.termination is Termination.DISK_LIMIT


async def test_cancel(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("sleep", workspace))
    output = process.output()
    assert (await anext(output)).data == b"up\n"
    begun = time.monotonic()
    await process.cancel()
    assert [chunk async for chunk in output] == []
    end = await process.wait()
    assert (end.termination, end.code, end.signal) == (Termination.CANCELLED, None, None)
    assert time.monotonic() - begun < 2
    await process.cancel()
    assert await process.wait() == end


async def test_cancel_after_the_end_changes_nothing(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("greet", workspace))
    end = await process.wait()
    await process.cancel()
    await process.aclose()
    assert (await process.wait()).termination is end.termination is Termination.EXITED


async def test_closing_kills(rig: Rig, workspace: Path) -> None:
    async with contextlib.aclosing(await rig.sandbox.start(rig.spec("flood", workspace))) as process:
        await anext(process.output())
    assert (await process.wait()).termination is Termination.CANCELLED
    assert await rig.left() == []


async def test_lost(rig: Rig, workspace: Path) -> None:
    spec = rig.spec("sleep", workspace)
    process = await rig.sandbox.start(spec)
    output = process.output()
    await anext(output)
    await rig.lose(spec.run_key)
    assert [chunk async for chunk in output] == []
    end = await process.wait()
    assert end.termination is Termination.LOST
    assert end.detail
    assert await rig.left() == []


async def test_bytes_come_as_they_are_and_in_order(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("parts", workspace))
    chunks = [chunk async for chunk in process.output()]
    assert b"".join(chunk.data for chunk in chunks) == b"\xe2\x82\xac\xff\x00\x1b[1m"
    assert chunks[0].data == b"\xe2\x82"
    assert all(chunk.stream is Stream.STDOUT for chunk in chunks)
    offsets = [chunk.offset_s for chunk in chunks]
    assert offsets == sorted(offsets)
    assert offsets[0] >= 0


async def test_unread_output_does_not_stop_the_command(rig: Rig, workspace: Path) -> None:
    limits = Limits(wall_s=30, output_bytes=20 * MIB)
    end = await (await rig.sandbox.start(rig.spec("flood", workspace, limits=limits))).wait()
    assert end.termination is Termination.OUTPUT_LIMIT
    assert end.usage.output_bytes == 20 * MIB


async def test_output_can_be_had_once(rig: Rig, workspace: Path) -> None:
    process = await rig.sandbox.start(rig.spec("greet", workspace))
    await read_all(process)
    with pytest.raises(RuntimeError):
        process.output()
    await process.wait()


async def test_environment_workspace_and_read_only_files(rig: Rig, workspace: Path, tmp_path: Path) -> None:
    (workspace / "in.txt").write_text("from the workspace")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "note").write_text("from outside")
    spec = rig.spec(
        "look", workspace, env={"GIVEN": "ünïcode value"}, read_only={"/given": tmp_path / "given"}
    )
    process = await rig.sandbox.start(spec)
    stdout, stderr = await read_all(process)
    assert stdout.decode() == "ünïcode value from the workspace from outside\n", stderr
    assert (await process.wait()).code == 0
    assert (workspace / "out.txt").read_text() == "/workspace"


async def test_running_commands_are_known_by_run_and_lease(rig: Rig, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, two = rig.spec("sleep", workspace, run="one"), rig.spec("sleep", tmp_path / "other", run="two")
    first, second = await rig.sandbox.start(one), await rig.sandbox.start(two)
    found = {(left.run_key, left.lease) for left in await rig.left()}
    assert found == {(one.run_key, one.lease), (two.run_key, two.lease)}
    reaped = await rig.sandbox.reap({one.lease})
    assert {left.run_key for left in reaped} == {one.run_key}
    assert (await first.wait()).termination is Termination.LOST
    assert {left.run_key for left in await rig.left()} == {two.run_key}
    await second.cancel()
    assert (await second.wait()).termination is Termination.CANCELLED
    assert await rig.sandbox.reap({one.lease, two.lease}) == []


@pytest.mark.parametrize("moment", [0, 1, 5, 20, 60, 200])
async def test_a_start_that_is_cancelled_leaves_nothing(rig: Rig, workspace: Path, moment: int) -> None:
    starting = asyncio.create_task(rig.sandbox.start(rig.spec("sleep", workspace)))
    await asyncio.sleep(moment / 1000)
    starting.cancel()
    try:
        process = await starting
    except asyncio.CancelledError:
        assert await rig.left() == []
    else:
        await process.aclose()


async def test_many_at_once(rig: Rig, tmp_path: Path) -> None:
    async def run(number: int) -> bytes:
        workspace = tmp_path / str(number)
        workspace.mkdir()
        process = await rig.sandbox.start(rig.spec("greet", workspace, run=f"r{number}"))
        stdout, _ = await read_all(process)
        assert (await process.wait()).code == 0
        return stdout

    assert await asyncio.gather(*map(run, range(12))) == [b"hello\n"] * 12
    assert await rig.left() == []


def test_a_bad_spec_tells_every_fault(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as caught:
        SandboxSpec(
            run_key="Bad Key",
            lease="../x",
            argv=(),
            workspace=tmp_path / "absent",
            env={"A=B": "x"},
            read_only={"relative": tmp_path / "absent"},
            limits=Limits(wall_s=0, memory_bytes=-1),
        )
    fields = {fault.field for fault in caught.value.faults}
    assert fields == {
        "run_key", "lease", "argv", "workspace", "env", "read_only", "limits.wall_s", "limits.memory_bytes"
    }  # fmt: skip
