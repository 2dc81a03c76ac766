"""Looks at a submission: what they leave where it is run, and what comes back, which may be forged."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
import tarfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from firetrial.runner.v1 import events_pb2
from firetrial_judge.kinds import look_program
from firetrial_judge.kinds.lent import GONE_S, Lent
from firetrial_judge.kinds.looking_wire import SandboxedLooker, packed, program, ran
from firetrial_judge.rubric.looking import Ran
from firetrial_judge.rubric.submission import File, Submission
from firetrial_kit import events
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import sha256
from unit.judge.world import World


def test_what_the_program_writes_is_read() -> None:
    told = b'[{"exit": 0, "output": "aGk=", "cut": false}, {"exit": null, "output": "", "cut": true}]'
    assert ran(told, 2) == [Ran(0, b"hi"), Ran(None, b"", cut=True)]


@pytest.mark.parametrize("code", ["Infinity", "NaN", "1e400", "2147483648", "-1", "true", "0.5", '"0"'])
def test_no_forged_exit_code_is_taken_for_one(code: str) -> None:
    with pytest.raises(FiretrialError) as fault:
        ran(f'[{{"exit": {code}, "output": "", "cut": false}}]'.encode(), 1)
    assert fault.value.reason is Reason.UNAVAILABLE


def test_a_command_whose_child_flees_its_session_does_not_take_the_time_of_the_others(tmp_path: Path) -> None:
    begun = time.monotonic()
    commands = ["echo begun; setsid sleep 30 & sleep 30", "echo next"]
    program = [sys.executable, look_program.__file__, "0.5", "100", *commands]
    subprocess.run(program, cwd=tmp_path, check=True, timeout=20)
    assert time.monotonic() - begun < 10
    told = ran((tmp_path / "looked.json").read_bytes(), 2)
    assert [(one.exit_code, one.output) for one in told] == [(None, b"begun\n"), (0, b"next\n")]


def test_no_module_of_the_submission_takes_the_place_of_pythons_own(tmp_path: Path) -> None:
    for name in ("base64", "json", "subprocess", "selectors"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('forged')")
    _, *arguments = program(["echo whole"])
    subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True, timeout=20)
    assert ran((tmp_path / "looked.json").read_bytes(), 1) == [Ran(0, b"whole\n")]


def test_names_that_no_folder_can_hold_keep_no_other_file_from_being_looked_at(tmp_path: Path) -> None:
    hostile = ["code/x", "code/x/y.py", f"code/{'é' * 128}", "looked.json/x", "looked.json", "paper/paper.md"]
    made = packed(submission(*hostile))
    with tarfile.open(fileobj=io.BytesIO(made)) as tar:
        tar.extractall(tmp_path, filter="data")
        assert tar.getnames() == ["code/x", "paper/paper.md"]


def submission(*names: str) -> Submission:
    return Submission(tuple(File(name, ("a line",), 7, None) for name in names), sha256(str(names).encode()))


class Runner:
    """Answers each look as a runner does, with what it finds in the tar; `broken` is what it says instead."""

    def __init__(self, broken: str = "") -> None:
        self.world, self.broken = World(), broken
        self.lent = Lent(self.world.objects, self.world.state, self.world.clock, "me")
        parts = self.world.objects, self.lent, self.world.bus, self.world.clock
        self.looker = SandboxedLooker(*parts, "default", wait_s=5.0)
        self.puts: list[str] = []

    async def made(self) -> list[str]:
        return await self.world.everything.keys("sealed", "")

    async def work(self) -> None:
        seen = 0
        while True:
            for out in self.world.bus.published[seen:]:
                seen += 1
                if out.subject == "ft.work.test.default":
                    await self.answer(events_pb2.TestRequested.FromString(out.data))
            await asyncio.sleep(0.002)

    async def answer(self, wanted: events_pb2.TestRequested) -> None:
        told = events_pb2.TestFinished(run_id=wanted.run_id, attempt=1, infra_failure=self.broken)
        if not self.broken:
            await self.world.everything.get(wanted.files.uri, sha256=wanted.files.sha256)
            self.puts.append(wanted.files.uri)
            count = len(wanted.command) - len(program([]))
            results = json.dumps([{"exit": 0, "output": "aGk=", "cut": False}] * count).encode()
            told.results.CopyFrom(await self.world.put("runs", f"{wanted.run_id}/looked.json", results))
        await self.world.bus.publish(events.fact("runner", wanted.run_id, told, clock=self.world.clock))

    @asynccontextmanager
    async def there(self) -> AsyncIterator[None]:
        working = asyncio.create_task(self.work())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def test_a_submission_is_put_there_once_for_all_who_grade_it_and_removed_in_the_end() -> None:
    runner, work = Runner(), submission("paper/paper.md")
    async with runner.there(), runner.looker.over(work) as one:
        async with runner.looker.over(work) as other:
            assert await one(["ls"]) == await other(["pwd"]) == [Ran(0, b"hi")]
        assert await one(["ls", "ls -l"]) == [Ran(0, b"hi")] * 2
        assert len(runner.puts) == 3
        assert [*dict.fromkeys(runner.puts)] == [f"sealed/{key}" for key in await runner.made()]
    assert await runner.made() == []


async def test_nothing_is_put_there_where_nobody_looks() -> None:
    runner = Runner()
    runner.world.objects.fail_next = FiretrialError(Reason.UNAVAILABLE, "not to be asked")
    async with runner.looker.over(submission("paper/paper.md")):
        pass
    assert runner.world.objects.fail_next is not None


async def test_it_is_removed_after_a_failure_too() -> None:
    runner = Runner(broken="the sandbox was lost")
    with pytest.raises(FiretrialError, match="the sandbox was lost"):
        async with runner.there(), runner.looker.over(submission("paper/paper.md")) as run:
            await run(["ls"])
    assert await runner.made() == []


async def test_a_put_that_failed_is_tried_again_by_the_next_look() -> None:
    runner = Runner()
    async with runner.there(), runner.looker.over(submission("paper/paper.md")) as run:
        runner.world.objects.fail_next = FiretrialError(Reason.UNAVAILABLE, "the store is full")
        with pytest.raises(FiretrialError, match="full"):
            await run(["ls"])
        assert await run(["ls"]) == [Ran(0, b"hi")]
    assert await runner.made() == []


async def test_what_a_killed_judge_left_is_removed_by_another() -> None:
    runner = Runner()
    async with runner.there():
        killed = runner.looker.over(submission("paper/paper.md"))
        run = await killed.__aenter__()
        await run(["ls"])
    world = runner.world
    other = Lent(world.objects, world.state, world.clock, "other")
    await other.sweep()
    assert len(await runner.made()) == 1, "it may be alive"
    world.clock.advance(GONE_S + 1)
    await other.sweep()
    assert await runner.made() == []
    assert await world.state.get("lent.me") is None


async def test_what_lives_says_so_and_keeps_what_it_needs() -> None:
    runner = Runner()
    world = runner.world
    other = Lent(world.objects, world.state, world.clock, "other")
    await runner.lent.put("look-1/files.tar", b"x")
    for _ in range(4):
        world.clock.advance(GONE_S / 2)
        await runner.lent.sweep()
        await other.sweep()
    assert await runner.made() == ["look-1/files.tar"]


async def test_what_could_not_be_removed_in_its_time_is_removed_later() -> None:
    runner = Runner()
    await runner.lent.put("look-1/files.tar", b"x")
    runner.world.objects.fail_next = FiretrialError(Reason.UNAVAILABLE, "the store is away")
    await runner.lent.remove("look-1/files.tar")
    assert await runner.made() == ["look-1/files.tar"]
    await runner.lent.put("look-2/files.tar", b"x")
    await runner.lent.sweep()
    assert await runner.made() == ["look-2/files.tar"]
