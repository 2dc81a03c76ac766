"""Four service processes on a real broker and a real S3 server, each with its own credentials."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from support import servers

SERVICES = ("parser", "runner", "judge", "analyzer")


@dataclass(slots=True)
class Cluster:
    """The processes by service name; `endpoints` is what a client is told, `runner` what only runners are."""

    folder: Path
    nats_url: str
    s3: servers.S3
    environ: dict[str, str] = field(default_factory=dict)
    runner: Mapping[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)

    def start(self, *names: str) -> None:
        """Start services (again, on the ports where clients know them) and wait until they answer.

        "runner-2" is one more runner: a process of its own beside "runner".
        """
        for name in names:
            self.begin(name)
        for name in names:
            servers.wait_for(partial(self._answers, name), name, 60)

    def _answers(self, name: str) -> bool:
        if self.processes[name].poll() is not None:
            raise RuntimeError(f"{name} ended: {self.log(name)[-3000:]}")
        return (self.folder / f"{name}.json").exists()

    def begin(self, name: str) -> None:
        """Start a service, and do not wait for it."""
        service = name.partition("-")[0]
        for one in (name, "analyzer"):
            self.ports.setdefault(one, servers.free_port())
        told = self.folder / f"{name}.json"
        told.unlink(missing_ok=True)
        access, secret = self.s3.keys[service]
        environ = {
            **os.environ,
            "FIRETRIAL_NATS_URL": self.nats_url,
            "FIRETRIAL_OBJECTS_URL": self.s3.url,
            "FIRETRIAL_S3_ACCESS_KEY": access,
            "FIRETRIAL_S3_SECRET_KEY": secret,
            "FIRETRIAL_RPC_ADDRESS": f"127.0.0.1:{self.ports[name]}",
            "FIRETRIAL_JUDGE_ANALYZER_ADDRESS": f"127.0.0.1:{self.ports['analyzer']}",
            "FIRETRIAL_PORTS_FILE": str(told),
            "FIRETRIAL_ACK_WAIT": "3",
            "FIRETRIAL_DRAIN": "5",
            "FIRETRIAL_RUNNER_WORK_DIR": str(self.folder / "work"),
            **self.environ,
            **(self.runner if service == "runner" else {}),
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            argv = [sys.executable, "-m", f"firetrial_{service}"]
            self.processes[name] = subprocess.Popen(
                argv, env=environ, stdout=log, stderr=log, cwd=self.folder
            )

    def stop(self, service: str) -> None:
        """End a service in good order; it must exit 0."""
        process = self.processes[service]
        servers.end(process)
        assert process.returncode == 0, self.log(service)[-2000:]

    def kill(self, service: str) -> None:
        """SIGKILL a service."""
        servers.end(self.processes[service], signal.SIGKILL)

    def log(self, service: str) -> str:
        """All that a service has said."""
        return (self.folder / f"{service}.log").read_text(errors="replace")

    @property
    def endpoints(self) -> str:
        """What FIRETRIAL_ENDPOINT must be for a client of this cluster."""
        return ",".join(
            f"{service}=127.0.0.1:{port}" for service, port in self.ports.items() if service in SERVICES
        )

    def metrics(self, service: str) -> str:
        """host:port of a service's metrics."""
        return str(json.loads((self.folder / f"{service}.json").read_text())["metrics"])


@contextmanager
def cluster(
    folder: Path,
    nats_url: str,
    s3: servers.S3,
    runner: Mapping[str, str] | None = None,
    /,
    **environ: str,
) -> Iterator[Cluster]:
    """A running cluster; each process is ended in good order, and must exit 0."""
    found = Cluster(folder, nats_url, s3, environ, runner or {})
    try:
        found.start(*SERVICES)
        yield found
    finally:
        for process in found.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in found.processes.values():
            servers.end(process)
