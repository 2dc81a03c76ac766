"""A child's end is told to everyone who waits for it."""

from __future__ import annotations

import subprocess

import pytest

from firetrial_runner.sandbox.supervise import returncode_of


def child(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", program])


@pytest.mark.parametrize(("program", "code"), [("exit 3", 3), ("kill -9 $$", -9)])
async def test_a_child_may_be_waited_for_twice(program: str, code: int) -> None:
    started = child(program)
    assert await returncode_of(started) == code
    assert await returncode_of(started) == code
