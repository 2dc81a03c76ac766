"""Who sees to a pool, and whether it is still there."""

from __future__ import annotations

import os
import subprocess
import sys

from firetrial_runner.pilots.watching import gone, holder


def test_a_process_that_lives_is_not_gone() -> None:
    assert not gone(holder(os.getpid()))


def test_one_that_ended_is_gone_and_its_number_in_other_hands_too() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    told = holder(process.pid)
    assert not gone(told)
    process.communicate(b"\n")
    assert gone(told)
    host, boot, began, _ = told.split("/")
    assert gone("/".join((host, boot, began + "1", str(os.getpid()))))


def test_of_another_machine_or_container_nothing_is_known() -> None:
    host, boot, _, pid = holder(os.getpid()).split("/")
    assert not gone(f"elsewhere/{boot}/1/{pid}")
    assert not gone(f"{host}/another-boot/1/{pid}")
    assert not gone("something else")
