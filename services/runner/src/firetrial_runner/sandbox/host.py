"""No sandbox at all: the command runs on the bare host, as the runner's own user. For development only.

It is measured and held to its times and sizes, but it can read and write whatever the runner can, and a
process that takes itself out of its session and environment outlives the run.
"""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping

from firetrial_runner.sandbox.bwrap_view import environment
from firetrial_runner.sandbox.jail import LocalJail, LocalSandbox
from firetrial_runner.sandbox.port import SandboxSpec
from firetrial_runner.sandbox.proctree import MARKS, ProcTree, kill_marked


class HostSandbox(LocalSandbox):
    """See the module; `unsafe_host` must be True and says that the caller knows. read_only is not mounted."""

    def __init__(self, *, unsafe_host: bool) -> None:
        if not unsafe_host:
            msg = "agents run on the bare host only with unsafe_host=True"
            raise ValueError(msg)
        super().__init__(None)

    @property
    def name(self) -> str:
        return "host"

    def enforcement(self) -> Mapping[str, str]:
        watched = {"memory_bytes": "watcher", "disk_bytes": "watcher", "output_bytes": "counted"}
        return {"wall_s": "timer", **watched, "isolation": "none"}

    async def probe(self) -> None:
        """Works everywhere."""

    def _user(self, spec: SandboxSpec) -> int | None:  # noqa: ARG002 -- the runner's own, for all
        return None

    def _jail(self, spec: SandboxSpec, uid: int | None) -> "_Jail":  # noqa: ARG002 -- as above
        return _Jail(spec, None)


def on_loopback(spec: SandboxSpec) -> dict[str, str]:
    """The command's environment, with its ways out on free ports of the host's own loopback."""
    at = {}
    for port, way in spec.ways.items():
        listener = socket.create_server(("127.0.0.1", 0))
        at[port] = listener.getsockname()[1]
        way.serve(listener)
    return spec.environment(at)


class _Jail(LocalJail):
    async def open(self) -> None:
        self._spawn()
        self._meter = ProcTree(self.popen.pid, self.spec.limits.memory_bytes, spared=False)

    def _spawn(self) -> None:
        spec, env = self.spec, on_loopback(self.spec)
        marks = dict(zip(MARKS, (spec.run_key, spec.lease), strict=True))
        self._popen = subprocess.Popen(
            spec.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment(), "CUDA_VISIBLE_DEVICES": "", "HOME": str(spec.workspace), **env, **marks},
            cwd=spec.workspace,
            start_new_session=True,
        )

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        kill_marked({self.spec.lease}, self.spec.run_key)

    def status(self, returncode: int, stderr_head: bytes) -> int | str:  # noqa: ARG002 -- the port's signature
        return 128 - returncode if returncode < 0 else returncode
