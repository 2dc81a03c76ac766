"""Counting what a tree holds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from firetrial_runner.sandbox.disk import MeasureError, until_worth_measuring, used_bytes
from unit.runner.test_archive import deep

MIB = 1024**2


def test_files_below_are_counted_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "w" / "sub").mkdir(parents=True)
    (tmp_path / "outside").write_bytes(bytes(5 * MIB))
    (tmp_path / "w" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "w" / "around").symlink_to(tmp_path / "w")
    (tmp_path / "w" / "sub" / "file").write_bytes(b"x" * MIB)
    used = used_bytes(tmp_path / "w", 10 * MIB)
    assert MIB <= used < 2 * MIB


def test_holes_do_not_count(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    assert used_bytes(tmp_path, 10 * MIB) < MIB


def test_counting_stops_above_the_limit(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "file").write_bytes(b"x" * MIB)
    assert MIB < used_bytes(tmp_path, MIB) < 4 * MIB


def test_deeper_than_a_path_can_name(tmp_path: Path) -> None:
    deep(tmp_path / "w")
    with pytest.raises(MeasureError) as caught:
        used_bytes(tmp_path / "w", MIB)
    assert len(str(caught.value)) < 300


def test_what_is_gone(tmp_path: Path) -> None:
    assert used_bytes(tmp_path / "absent", MIB) == 0


async def test_a_tree_is_measured_again_once_its_file_system_has_lost_its_room(tmp_path: Path) -> None:
    left = [100 * MIB, 95 * MIB, 89 * MIB]
    begun = time.monotonic()
    await until_worth_measuring(tmp_path, 10 * MIB, 1.0, lambda _: left.pop(0))
    assert left == []
    assert 1.0 <= time.monotonic() - begun < 5.0


async def test_a_tree_is_measured_now_and_then_where_nothing_is_written(tmp_path: Path) -> None:
    begun = time.monotonic()
    await until_worth_measuring(tmp_path, MIB, 0.1, lambda _: MIB)
    assert 1.0 <= time.monotonic() - begun < 5.0
