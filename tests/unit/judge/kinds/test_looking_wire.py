"""What comes back of commands over a submission, which they may have forged themselves."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from firetrial_judge.kinds import look_program
from firetrial_judge.kinds.looking_wire import ran
from firetrial_judge.rubric.looking import Ran
from firetrial_kit.errors import FiretrialError, Reason


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
