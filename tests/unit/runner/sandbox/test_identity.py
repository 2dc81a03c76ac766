"""Whose a run is when the runner is root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firetrial_runner.sandbox.identity import hand_over, uid_for

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root hands things over")


@root
def test_each_run_has_its_own_user(tmp_path: Path) -> None:
    whole = tmp_path / "uid_map"
    whole.write_text("         0          0 4294967295\n")
    uids = {uid_for(f"r-{number}", whole) for number in range(50)}
    assert len(uids) == 50
    assert uid_for("r-1", whole) == uid_for("r-1", whole)
    assert all(uid is not None and uid > 2**30 for uid in uids)


@root
def test_where_few_users_are_mapped_it_is_nobody(tmp_path: Path) -> None:
    (tmp_path / "uid_map").write_text("0 100000 65536\n")
    assert uid_for("r-1", tmp_path / "uid_map") == 65534


@root
def test_handing_over_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "w" / "sub").mkdir(parents=True)
    (tmp_path / "w" / "sub" / "file").write_text("x")
    (tmp_path / "outside").write_text("x")
    (tmp_path / "w" / "link").symlink_to(tmp_path / "outside")
    hand_over(tmp_path / "w", 4242)
    assert {(tmp_path / "w" / name).lstat().st_uid for name in ("", "sub", "sub/file", "link")} == {4242}
    assert (tmp_path / "outside").stat().st_uid == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root has users to give")
def test_a_normal_users_runs_are_the_users_own() -> None:
    assert uid_for("r-1") is None
