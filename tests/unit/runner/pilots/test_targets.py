"""What Prometheus is told of a pool's runners."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from firetrial_kit.attendance import Attendant
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.pilots.targets import targets, write

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ONE = Attendant("r-1", "n1", "0", "gpu", 2, NOW, NOW, page="n1:40001")


def test_those_of_the_pool_that_are_there_and_can_be_reached() -> None:
    known = [
        replace(ONE, instance="r-2", page="n2:40002"),
        ONE,
        replace(ONE, instance="r-3", pool="cpu", page="n3:1"),
        replace(ONE, instance="r-4", page=""),
        replace(ONE, instance="r-5", page="n5:1", seen_at=NOW - timedelta(minutes=1)),
    ]
    assert json.loads(targets(known, "gpu", NOW)) == [{"targets": ["n1:40001", "n2:40002"]}]
    assert json.loads(targets([], "gpu", NOW)) == [{"targets": []}]


def test_a_file_is_written_where_it_differs(tmp_path: Path) -> None:
    file = tmp_path / "gpu.json"
    write(file, "[]")
    first = file.stat().st_mtime_ns, file.stat().st_ino
    write(file, "[]")
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == first
    write(file, "[1]")
    assert (file.read_text(), [path.name for path in tmp_path.iterdir()]) == ("[1]", ["gpu.json"])


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError, match=r"gpu\.json cannot be written") as caught:
        write(tmp_path / "absent" / "gpu.json", "[]")
    assert caught.value.reason is Reason.UNAVAILABLE
