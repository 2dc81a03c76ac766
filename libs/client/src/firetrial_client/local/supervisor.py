"""The supervisor behind `firetrial up`: starts everything in order, keeps it running, ends it in order.

`python -m firetrial_client.local OPTIONS` (JSON of `Options`) is what a detached `up` starts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from firetrial_client.local.home import Home, take_lock, write_json
from firetrial_client.local.processes import (
    SERVICES,
    Process,
    StartError,
    Store,
    broker,
    operator,
    s3_store,
    services,
)

_START = 60.0
# Longer than the services' own drain, so that they are not killed while they end in good order.
_STOP = 30.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: in one service process or four, with objects in files or on an S3 server."""

    home: str
    split: bool = False
    s3: bool = False
    address: str = "127.0.0.1:0"


class Supervisor:
    """Everything that `up` runs. `say` is told each event in a line."""

    def __init__(self, options: Options, say: Say) -> None:
        self.home = Home(Path(options.home))
        self._options = options
        self._say = say
        self._stop = False
        self._processes: list[Process] = []

    def run(self) -> int:
        """Run until SIGTERM or SIGINT. Returns the exit code. Raises StartError."""
        self.home.prepare()
        lock = take_lock(self.home)
        if lock is None:
            raise StartError(f"it is running already in {self.home.path}; `firetrial down` ends it")
        self.home.endpoints.unlink(missing_ok=True)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._told_to_stop)
        try:
            self._start()
            while not self._stop:
                self._look()
                time.sleep(0.1)
        finally:
            self._end()
            os.close(lock)
        return 0

    def _told_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stop = True

    def _start(self) -> None:
        nats = broker(self.home)
        self._begin(nats.process, lambda: _answers(nats.url.rpartition("//")[2]))
        store = s3_store(self.home) if self._options.s3 else None
        if store:
            self._begin(store.process, lambda: _answers(store.url.rpartition("//")[2]))
            self._make_buckets(store)
        write_json(self.home.operator, operator(self.home, nats, store))
        members = services(self.home, nats, store, split=self._options.split, address=self._options.address)
        for process in members.values():
            process.start()
            self._processes.append(process)
        for name, process in members.items():
            self._await(process, (self.home.run / f"{name}.json").exists)
        self._publish_endpoints(members)

    def _begin(self, process: Process, ready: Callable[[], bool]) -> None:
        process.start()
        self._processes.append(process)
        self._await(process, ready)

    def _await(self, process: Process, ready: Callable[[], bool]) -> None:
        until = time.monotonic() + _START
        while not ready():
            if not process.alive():
                raise StartError(f"{process.name} ended at once; its log says:\n{process.said()}")
            if time.monotonic() > until:
                raise StartError(f"{process.name} did not answer within {_START:.0f} s: {process.log}")
            if self._stop:
                return
            time.sleep(0.02)

    def _make_buckets(self, store: Store) -> None:
        key, secret = store.keys["admin"]
        environ = {
            **os.environ,
            "FIRETRIAL_OBJECTS_URL": store.url,
            "FIRETRIAL_S3_ACCESS_KEY": key,
            "FIRETRIAL_S3_SECRET_KEY": secret,
        }
        argv = [sys.executable, "-m", "firetrial_kit.buckets", "make"]
        until = time.monotonic() + _START
        while (made := subprocess.run(argv, env=environ, capture_output=True, check=False)).returncode:
            if time.monotonic() > until:
                raise StartError(f"the buckets could not be made: {made.stderr.decode(errors='replace')}")
            time.sleep(0.2)

    def _publish_endpoints(self, members: dict[str, Process]) -> None:
        told = {name: json.loads((self.home.run / f"{name}.json").read_text()) for name in members}
        endpoints = {name: told[name if name in told else "host"]["rpc"] for name in SERVICES}
        write_json(self.home.endpoints, endpoints)
        self._say("up: " + ", ".join(sorted(set(endpoints.values()))))

    def _look(self) -> None:
        for process in self._processes:
            if process.revive():
                code = process.running.returncode if process.running else None
                self._say(f"{process.name} ended with {code}; it is started again (log: {process.log})")

    def _end(self) -> None:
        self.home.endpoints.unlink(missing_ok=True)
        own = [process for process in self._processes if process.name in (*SERVICES, "host")]
        others = [process for process in self._processes if process not in own]
        for process in own:
            if process.running and process.alive():
                process.running.send_signal(signal.SIGTERM)
        for process in [*own, *reversed(others)]:
            process.stop(_STOP)
        # Settings with passwords and the ports of what no longer runs.
        for left in self.home.run.iterdir():
            if left != self.home.lock:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=0.5):
            return True
    except OSError:
        return False


def spawn(options: Options) -> subprocess.Popen[bytes]:
    """Start a supervisor that outlives this process; its words go to its log."""
    home = Home(Path(options.home))
    home.prepare()
    argv = [sys.executable, "-m", "firetrial_client.local", json.dumps(asdict(options))]
    with (home.logs / "supervisor.log").open("ab") as log:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
