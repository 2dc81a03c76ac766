"""Temporary folders of processes that live, and of those that were killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from firetrial_runner.sandbox.scratch import scratch

HOLD = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from firetrial_runner.sandbox.scratch import scratch
with scratch("probe") as folder:
    (folder / "x").touch()
    print(folder, flush=True)
    time.sleep(60)
"""


def test_it_goes_with_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().decode().strip())
        with scratch("probe") as mine, scratch("other") as unlike:
            assert set(tmp_path.iterdir()) == {theirs, mine, unlike}, "they live"
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert list(tmp_path.iterdir()) == [theirs]
    with scratch("other"):
        assert theirs.exists(), "not for the same purpose"
    with scratch("probe") as mine:
        assert list(tmp_path.iterdir()) == [mine]
    assert list(tmp_path.iterdir()) == []
