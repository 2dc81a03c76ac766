"""No sandbox at all: the command runs on the bare host, as the runner's own user. For development only.

It is measured and held to its times and sizes, but it can read and write whatever the runner can, and a
process that takes itself out of its session and environment outlives the run.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Collection, Mapping

from firetrial_runner.sandbox.bwrap_view import environment
from firetrial_runner.sandbox.port import Leftover, SandboxSpec
from firetrial_runner.sandbox.proctree import MARKS, ProcTree, kill_marked, marked
from firetrial_runner.sandbox.supervise import LocalProcess


class HostSandbox:
    """See the module; `unsafe_host` must be True and says that the caller knows. read_only is not mounted."""

    def __init__(self, *, unsafe_host: bool) -> None:
        if not unsafe_host:
            msg = "agents run on the bare host only with unsafe_host=True"
            raise ValueError(msg)

    @property
    def name(self) -> str:
        return "host"

    def enforcement(self) -> Mapping[str, str]:
        watched = {"memory_bytes": "watcher", "disk_bytes": "watcher", "output_bytes": "counted"}
        return {"wall_s": "timer", **watched, "isolation": "none"}

    async def probe(self) -> None:
        """Works everywhere."""

    async def start(self, spec: SandboxSpec) -> LocalProcess:
        return LocalProcess(_Jail(spec), spec.limits, spec.workspace)

    async def aclose(self) -> None:
        """Nothing is held."""

    async def leftovers(self) -> list[Leftover]:
        return [Leftover(run, lease, f"process {pid}") for pid, run, lease in marked()]

    async def reap(self, dead: Collection[str]) -> list[Leftover]:
        killed = await asyncio.to_thread(kill_marked, dead)
        return [Leftover(run, lease, f"process {pid}") for pid, run, lease in killed]


def on_loopback(spec: SandboxSpec) -> dict[str, str]:
    """The command's environment, with its ways out on free ports of the host's own loopback."""
    at = {}
    for port, way in spec.ways.items():
        listener = socket.create_server(("127.0.0.1", 0))
        at[port] = listener.getsockname()[1]
        way.serve(listener)
    return spec.environment(at)


class _Jail:
    def __init__(self, spec: SandboxSpec) -> None:
        self._spec = spec
        env = on_loopback(spec)
        marks = dict(zip(MARKS, (spec.run_key, spec.lease), strict=True))
        self.popen = subprocess.Popen(
            spec.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment(), "CUDA_VISIBLE_DEVICES": "", "HOME": str(spec.workspace), **env, **marks},
            cwd=spec.workspace,
            start_new_session=True,
        )
        self.meter = ProcTree(self.popen.pid, spec.limits.memory_bytes, spared=False)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        kill_marked({self._spec.lease}, self._spec.run_key)

    def status(self, returncode: int, stderr_head: bytes) -> int | str:  # noqa: ARG002 -- the port's signature
        return 128 - returncode if returncode < 0 else returncode

    def cleanup(self) -> None:
        """Nothing was made."""
