"""Folders for what is laid out, and those of judges that were killed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from firetrial_judge.kinds.scratch import scratch
from firetrial_kit.errors import FiretrialError, Reason


@pytest.fixture(autouse=True)
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(temp: Path, age_s: float) -> Path:
    folder = temp / "firetrial-seal-dead"
    folder.mkdir()
    (folder / "source.tar").write_text("large")
    then = folder.stat().st_mtime - age_s
    os.utime(folder, (then, then))
    return folder


def test_what_a_killed_judge_left_goes_before_more_is_laid_out(temp: Path) -> None:
    dead = left(temp, 61.0)
    with scratch() as folder:
        assert not dead.exists()
        assert folder.is_dir()
    assert list(temp.iterdir()) == []


def test_what_is_in_use_or_new_stays(temp: Path) -> None:
    new = left(temp, 0.0)
    with scratch() as mine:
        os.utime(mine, (0.0, 0.0))
        with scratch():
            assert mine.is_dir()
            assert new.is_dir()


def test_a_full_disk_is_infrastructures_and_passes(temp: Path) -> None:
    with pytest.raises(FiretrialError) as fault, scratch():
        raise OSError(28, "No space left on device")
    assert (fault.value.reason, fault.value.retryable) == (Reason.UNAVAILABLE, True)
    assert "No space left on device" in fault.value.message
    assert list(temp.iterdir()) == []
