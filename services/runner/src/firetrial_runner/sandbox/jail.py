"""What sandboxes without an engine have alike: they start a tree in a jail, and find what is left of one."""

import asyncio
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path

from firetrial_runner.sandbox import traces
from firetrial_runner.sandbox.cgroup import Cgroup, Cgroups, Meter
from firetrial_runner.sandbox.identity import hand_over, uid_for
from firetrial_runner.sandbox.port import Leftover, Limits, SandboxSpec, Termination
from firetrial_runner.sandbox.proctree import ProcTree
from firetrial_runner.sandbox.scratch import scratch
from firetrial_runner.sandbox.supervise import LocalProcess

_PROBE = "probe"


class LocalJail(ABC):
    """One run's process tree, with a control group of its own where there are any."""

    def __init__(self, spec: SandboxSpec, cgroups: Cgroups | None) -> None:
        self.spec, self._cgroups = spec, cgroups
        self._cgroup: Cgroup | None = None
        self._popen: subprocess.Popen[bytes] | None = None
        self._meter: Meter | None = None

    @property
    def popen(self) -> subprocess.Popen[bytes]:
        assert self._popen is not None  # noqa: S101 -- set by open
        return self._popen

    @property
    def meter(self) -> Meter:
        assert self._meter is not None  # noqa: S101 -- set by open
        return self._meter

    @abstractmethod
    async def open(self) -> None:
        """Start the tree under its limits. Raises SandboxError, and is to be abandoned then."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the whole tree, at once; harmless when it is dead."""

    @abstractmethod
    def status(self, returncode: int, stderr_head: bytes) -> int | str:
        """The command's exit status as a shell gives it, or why it is lost."""

    def limit(self, root: int) -> None:
        """Hold the tree below this process. Raises OSError where its control group cannot be had."""
        limits = self.spec.limits
        if self._cgroups is None:
            self._meter = ProcTree(root, limits.memory_bytes, spared=True)
            return
        self._meter = self._cgroup = self._cgroups.create(f"{self.spec.run_key}.{self.spec.lease}", limits)
        self._cgroup.add(root)

    def cleanup(self) -> None:
        """Remove what was made; harmless when it is removed."""
        if self._cgroup is not None:
            self._cgroup.remove()

    def abandon(self) -> None:
        """Undo an `open` that did not come to its end. Blocks for moments."""
        if self._popen is not None:
            self.kill()
            self._popen.wait()
            for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
                if pipe is not None:
                    pipe.close()
        self.cleanup()


class LocalSandbox(ABC):
    """A Sandbox (see the port) but for its name and what holds its limits."""

    def __init__(self, cgroups: Cgroups | None) -> None:
        self._cgroups = cgroups

    @abstractmethod
    def _jail(self, spec: SandboxSpec, uid: int | None) -> LocalJail:
        """A jail that is not open yet. `uid` is whom root makes of the command."""

    def _user(self, spec: SandboxSpec) -> int | None:
        return uid_for(spec.run_key)

    async def start(self, spec: SandboxSpec) -> LocalProcess:
        uid = self._user(spec)
        if uid is not None:
            await asyncio.to_thread(hand_over, spec.workspace, uid)
        jail = self._jail(spec, uid)
        try:
            await jail.open()
            return LocalProcess(jail, spec.limits, spec.workspace)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(jail.abandon))
            raise

    async def _first(self, wall_s: float) -> str:
        """Run a first command; what was wrong with it, or "". Raises SandboxError where it does not start."""
        with scratch(_PROBE) as folder:
            (workspace := Path(folder, "workspace")).mkdir()
            key = f"{_PROBE}-{os.urandom(4).hex()}"
            spec = SandboxSpec(key, _PROBE, ("true",), workspace, limits=Limits(wall_s=wall_s))
            end = await (await self.start(spec)).wait()
        well = end.termination is Termination.EXITED and end.code == 0
        return "" if well else end.detail or f"a first command ended with {end}"

    async def leftovers(self) -> list[Leftover]:
        return traces.found(self._cgroups)

    async def reap(self, dead: Collection[str]) -> list[Leftover]:
        return await asyncio.to_thread(traces.remove, self._cgroups, dead)

    async def aclose(self) -> None:  # noqa: B027 -- as it is for all of them
        """Nothing is held."""
