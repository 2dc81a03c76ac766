"""What an engine says of itself, and what that means for runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firetrial_runner.sandbox.docker_engine import brings_a_filter, shortcomings

GOOD: dict[str, Any] = {
    "OSType": "linux",
    "MemoryLimit": True,
    "SwapLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
    "ServerVersion": "27.3.1",
}
SECCOMP = "name=seccomp,profile=builtin"


@pytest.fixture
def swaps(tmp_path: Path) -> Path:
    path = tmp_path / "swaps"
    path.write_text("Filename Type Size Used Priority\n/swapfile file 1 0 -2\n")
    return path


def test_an_engine_that_holds_everything(swaps: Path) -> None:
    assert list(shortcomings(GOOD, swaps)) == []


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"OSType": "windows"}, "windows containers"),
        ({"MemoryLimit": False, "PidsLimit": False, "CpuCfsQuota": False}, "memory, processes, CPU time"),
        ({"CpuCfsQuota": False}, "no limit of CPU time:"),
        ({"SwapLimit": False}, "swap"),
        ({"SecurityOptions": ["name=apparmor"]}, "system calls"),
        ({"SecurityOptions": None}, "system calls"),
        ({"SecurityOptions": [SECCOMP, "name=rootless"]}, "(rootless)"),
        ({"SecurityOptions": [SECCOMP, "name=userns"]}, "(userns)"),
    ],
)
def test_what_an_engine_does_not_hold_is_named(more: dict[str, Any], told: str, swaps: Path) -> None:
    (short,) = shortcomings({**GOOD, **more}, swaps)
    assert told in short


def test_all_that_is_wrong_is_told_at_once(swaps: Path) -> None:
    assert len(list(shortcomings({}, swaps))) == 4


def test_swap_that_is_not_counted_does_not_matter_where_there_is_none(tmp_path: Path) -> None:
    empty = tmp_path / "swaps"
    assert list(shortcomings({**GOOD, "SwapLimit": False}, empty)) == []
    empty.write_text("Filename Type Size Used Priority\n")
    assert list(shortcomings({**GOOD, "SwapLimit": False}, empty)) == []


@pytest.mark.parametrize(
    ("version", "options", "own"),
    [
        ("27.3.1", [SECCOMP], True),
        ("25.0.0", ["name=seccomp,profile=default"], True),
        ("20.10.24+dfsg1", ["name=seccomp,profile=default"], False),
        ("27.3.1", ["name=seccomp,profile=unconfined"], False),
        ("27.3.1", ["name=seccomp,profile=/etc/docker/mine.json"], False),
        ("dev", [SECCOMP], False),
    ],
)
def test_its_filter_is_relied_on_where_it_is_its_own_and_new(
    version: str, options: list[str], own: bool
) -> None:
    assert brings_a_filter({"ServerVersion": version, "SecurityOptions": options}, 25) is own
