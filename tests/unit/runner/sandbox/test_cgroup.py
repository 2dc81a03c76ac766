"""Control groups, on directories that look like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from firetrial_runner.sandbox.cgroup import Cgroups, Sample
from firetrial_runner.sandbox.port import Limits

LIMITS = Limits(memory_bytes=100, processes=7, cpus=1.5)


def version_1(root: Path, own: str = "/") -> Path:
    for controller in ("memory", "pids", "cpu", "cpuacct"):
        (root / controller / own.lstrip("/")).mkdir(parents=True)
    lines = root / "own"
    lines.write_text(
        "".join(f"{n}:{c}:{own}\n" for n, c in enumerate(("memory", "pids", "cpu", "cpuacct"), 1))
    )
    return lines


def version_2(root: Path, own: str, delegated: str) -> Path:
    (root / own.lstrip("/")).mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory pids")
    for folder in (root, *(root / own.lstrip("/")).parents, root / own.lstrip("/")):
        if folder.is_relative_to(root):
            (folder / "cgroup.subtree_control").write_text("")
    (root / delegated.lstrip("/") / "cgroup.subtree_control").write_text("cpu memory pids")
    lines = root / "own"
    lines.write_text(f"0::{own}\n")
    return lines


def test_version_1_below_our_own_group(tmp_path: Path) -> None:
    cgroups = Cgroups.discover(tmp_path, version_1(tmp_path, "/service"))
    assert cgroups is not None
    assert cgroups.version == 1
    group = cgroups.create("r-1.l-1", LIMITS)
    memory = tmp_path / "memory/service/firetrial/r-1.l-1"
    assert (memory / "memory.limit_in_bytes").read_text() == "100"
    assert (tmp_path / "pids/service/firetrial/r-1.l-1/pids.max").read_text() == "7"
    assert (tmp_path / "cpu/service/firetrial/r-1.l-1/cpu.cfs_quota_us").read_text() == "150000"
    group.add(42)
    assert (tmp_path / "pids/service/firetrial/r-1.l-1/cgroup.procs").read_text() == "42"
    assert cgroups.names() == ["r-1.l-1"]


def test_version_1_in_a_container_that_names_its_host(tmp_path: Path) -> None:
    lines = version_1(tmp_path)
    lines.write_text(lines.read_text().replace(":/\n", ":/docker/0123\n"))
    cgroups = Cgroups.discover(tmp_path, lines)
    assert cgroups is not None
    cgroups.create("r-1.l-1", LIMITS)
    assert (tmp_path / "memory/firetrial/r-1.l-1").is_dir()


def test_what_a_group_uses(tmp_path: Path) -> None:
    cgroups = Cgroups.discover(tmp_path, version_1(tmp_path))
    assert cgroups is not None
    group = cgroups.create("r-1.l-1", LIMITS)
    assert group.sample() == Sample(0, 0, 0, 0)
    for controller, name, text in (
        ("cpuacct", "cpuacct.usage", "2500000000\n"),
        ("memory", "memory.stat", "cache 9\nrss 1\ntotal_rss 4096\n"),
        ("memory", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        ("pids", "pids.current", "3\n"),
    ):
        (tmp_path / controller / "firetrial/r-1.l-1" / name).write_text(text)
    assert group.sample() == Sample(2.5, 4096, 3, 2)


@pytest.mark.parametrize("delegated", ["/user.slice/app.scope", "/user.slice"])
def test_version_2_at_us_or_beside_us(tmp_path: Path, delegated: str) -> None:
    cgroups = Cgroups.discover(tmp_path, version_2(tmp_path, "/user.slice/app.scope", delegated))
    assert cgroups is not None
    assert cgroups.version == 2
    if delegated == "/user.slice":
        # A file here takes any write; the kernel refuses it to a group that holds processes.
        (tmp_path / "user.slice/app.scope/cgroup.subtree_control").unlink()
        (tmp_path / "user.slice/app.scope/cgroup.subtree_control").mkdir()
        cgroups = Cgroups.discover(tmp_path, tmp_path / "own")
        assert cgroups is not None
    group = cgroups.create("r-1.l-1", LIMITS)
    folder = tmp_path / delegated.lstrip("/") / "firetrial/r-1.l-1"
    assert (folder / "memory.max").read_text() == "100"
    assert (folder / "pids.max").read_text() == "7"
    assert (folder / "cpu.max").read_text() == "150000 100000"
    (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    (folder / "memory.stat").write_text("anon 8192\nfile 1\n")
    (folder / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    assert group.sample() == Sample(1.5, 8192, 0, 1)


def test_a_name_in_use_is_left_alone(tmp_path: Path) -> None:
    cgroups = Cgroups.discover(tmp_path, version_1(tmp_path))
    assert cgroups is not None
    (tmp_path / "pids/firetrial/r-1.l-1").mkdir(parents=True)
    with pytest.raises(FileExistsError):
        cgroups.create("r-1.l-1", LIMITS)
    assert (tmp_path / "pids/firetrial/r-1.l-1").is_dir()
    assert not (tmp_path / "memory/firetrial/r-1.l-1").exists()


def test_where_there_are_none(tmp_path: Path) -> None:
    assert Cgroups.discover(tmp_path, tmp_path / "absent") is None
    (tmp_path / "own").write_text("0::/\n")
    assert Cgroups.discover(tmp_path, tmp_path / "own") is None
