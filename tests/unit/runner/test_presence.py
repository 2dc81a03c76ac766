"""Knowing which runners live."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from firetrial_runner.presence import Presence


def test_those_who_take_leave_are_forgotten(tmp_path: Path) -> None:
    first, second = Presence(tmp_path), Presence(tmp_path)
    assert first.lease != second.lease
    assert not first.is_dead(first.lease)
    assert not first.is_dead(second.lease)
    second.leave()
    assert first.is_dead(second.lease)
    assert first.dead() == []
    first.leave()


def test_one_that_was_killed_is_dead_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from firetrial_runner.presence import Presence;"
        "print(Presence(Path(sys.argv[1])).lease, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        lease = other.stdout.readline().decode().strip()
        mine = Presence(tmp_path)
        assert (mine.is_dead(lease), mine.dead()) == (False, [])
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert (mine.is_dead(lease), mine.dead()) == (True, [lease])
    mine.forget(lease)
    assert mine.dead() == []
    mine.leave()


def test_leases_of_another_place_are_never_dead(tmp_path: Path) -> None:
    here, there = Presence(tmp_path / "here"), Presence(tmp_path / "there")
    there.leave()
    assert not here.is_dead(there.lease)
    assert not here.is_dead("anything")
    assert not here.is_dead(f"{here.lease[:9]}../../x")
    here.leave()


def test_one_that_comes_is_never_taken_for_dead(tmp_path: Path) -> None:
    """However often others look while it makes its file and locks that."""
    mine, stop, found = Presence(tmp_path), threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            found.extend(mine.dead())

    with ThreadPoolExecutor(2) as pool:
        looking = [pool.submit(look) for _ in range(2)]
        try:
            living = [mine, *(Presence(tmp_path) for _ in range(100))]
        finally:
            stop.set()
        for one in looking:
            one.result()
    assert found == []
    for presence in living:
        presence.leave()
