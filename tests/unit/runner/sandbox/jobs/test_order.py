"""An order is read as it was laid, once, and by its user alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner.gpus.device import Demand
from firetrial_runner.sandbox.jobs.order import NAME, Caller, Inner, Order, take
from firetrial_runner.sandbox.port import GATEWAY_PORT, Limits, SandboxSpec
from support.greeter import Greeter

CALLER = Caller("login1", 8470, "a secret", "ab" * 32)


def order(folder: Path) -> Order:
    (folder / "given").mkdir()
    spec = SandboxSpec(
        run_key="r-1",
        lease="lease-1",
        argv=("python3", "-c", "print('ü')"),
        workspace=folder,
        env={"TOKEN": "t ö", "GATEWAY": "mine"},
        read_only={"/given": folder / "given"},
        limits=Limits(wall_s=1.5),
        gateway=Greeter("one"),
        demand=Demand(2, 5),
    )
    return Order.of(spec, Inner("apptainer", "/images/agents.sif"), CALLER)


def test_it_is_read_as_it_was_laid(tmp_path: Path) -> None:
    laid = order(tmp_path)
    laid.lay(tmp_path)
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert take(tmp_path) == laid


def test_it_is_read_once(tmp_path: Path) -> None:
    order(tmp_path).lay(tmp_path)
    take(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["given"]
    with pytest.raises(FileNotFoundError):
        take(tmp_path)


def test_what_the_ways_out_say_of_themselves_is_in_it(tmp_path: Path) -> None:
    laid = order(tmp_path)
    assert laid.ports == (GATEWAY_PORT,)
    assert laid.env == {"GIVEN": "by the gateway", "TOKEN": "t ö", "GATEWAY": "mine"}


def test_a_folder_that_the_node_does_not_have_is_named(tmp_path: Path) -> None:
    laid = order(tmp_path)
    (tmp_path / "given").rmdir()
    with pytest.raises(FiretrialError, match=r"given.*an existing file or directory"):
        laid.spec({}, ())
