"""`firetrial calibrate`: the judge that serves is measured, as it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unit.client.cli.conftest import Call


def test_the_judge_that_serves_is_measured(firetrial: Call, answer: Any, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes(b"id,reference,claim,label\n")
    told = answer("calibrate", "labels.csv", "--judge-model", "m", "--judge-panel", "n")
    assert (told["id"], told["items"]) == ("c-1", 25)
    assert (told["config"]["model"], told["config"]["panel"]) == ("m", ["n"])
    assert "calibration  c-1" in firetrial("calibrate", "labels.csv").output
    refused = firetrial("calibrate", "labels.csv", "--judge", "offline", "--judge-model", "m", code=2)
    assert "offline" in refused.output
