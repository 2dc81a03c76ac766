"""A run's place: prepared, collected, removed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner import workspace
from firetrial_runner.archive import bundle
from firetrial_runner.conclusion import Conclusion
from unit.runner.test_archive import deep, hostile


def test_what_the_agent_is_given(tmp_path: Path) -> None:
    (tmp_path / "data.tar").write_bytes(bundle(iter([("x/table.csv", b"1", False)])))
    (tmp_path / "agent.tar").write_bytes(bundle(iter([("agent.py", b"pass", False)])))
    place = workspace.prepare(tmp_path / "run", "do it\n", tmp_path / "data.tar", tmp_path / "agent.tar")
    assert (place.files / "instruction.txt").read_text() == "do it\n"
    assert (place.files / "data/x/table.csv").read_bytes() == b"1"
    assert (place.bundle / "agent.py").read_bytes() == b"pass"


def test_without_data(tmp_path: Path) -> None:
    place = workspace.prepare(tmp_path / "run", "do it", None, None)
    assert sorted(path.name for path in place.files.iterdir()) == ["instruction.txt"]
    assert list(place.bundle.iterdir()) == []


def test_bad_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.tar").write_bytes(b"no tar")
    with pytest.raises(FiretrialError):
        workspace.prepare(tmp_path / "run", "do it", tmp_path / "data.tar", None)


def test_collect(tmp_path: Path) -> None:
    place = workspace.prepare(tmp_path / "run", "do it", None, None)
    (place.files / "result.csv").write_text("1")
    left = workspace.collect(place, Conclusion("said", "standard output"), "")
    assert left.conclusion is not None
    assert left.conclusion.text == "said"
    assert (left.artifacts.files, left.artifacts.left_out_count) == (1, 0)
    (place.files / "conclusion.md").write_text("written")
    left = workspace.collect(place, Conclusion("said", "standard output"), "")
    assert left.conclusion is not None
    assert left.conclusion.text == "written"


def test_collect_nothing(tmp_path: Path) -> None:
    left = workspace.collect(workspace.prepare(tmp_path / "run", "do it", None, None), None, "nothing said")
    assert left.conclusion is None
    assert "conclusion.md" in left.why_none
    assert left.artifacts.files == 0


def test_remove_whatever_is_there(tmp_path: Path) -> None:
    place = workspace.prepare(tmp_path / "run", "do it", None, None)
    hostile(place.files / "hostile")
    deep(place.files / "deep")
    (place.files / "shut").mkdir()
    (place.files / "shut" / "inside").mkdir()
    (place.files / "shut" / "inside" / "x").write_text("x")
    (place.files / "shut" / "inside").chmod(0)
    (place.files / "shut").chmod(0o500)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (place.files / "way-out").symlink_to(outside)
    workspace.remove(place.folder)
    assert not place.folder.exists()
    assert (outside / "kept").exists()
    workspace.remove(place.folder)


def test_two_may_remove_the_same(tmp_path: Path) -> None:
    """As the reapers of two runners do."""
    for number in range(20):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        for name in range(12):
            deep(folder / f"deep-{name}", 12)
            (folder / f"deep-{name}" / "x").write_text("x")
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(workspace.remove, [folder] * 3))
        assert not folder.exists()
