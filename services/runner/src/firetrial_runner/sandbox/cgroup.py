"""Control groups, version 1 and 2: the kernel's own limits on a process tree, where we may make them."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from firetrial_runner.sandbox.port import Limits

_OURS, _PROBE = "firetrial", "probe"
_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class Sample:
    """What a tree uses now. cpu_s is its total so far; oom_kills counts kills for want of memory."""

    cpu_s: float
    rss_bytes: int
    processes: int
    oom_kills: int = 0


class Meter(Protocol):
    """Measures a process tree, and holds it to its memory where the kernel does not."""

    def sample(self) -> Sample: ...


class Cgroups:
    """The place under which this program may make control groups.

    `version` is 1 or 2; `bases` maps each controller to a directory (all to one in version 2).
    """

    def __init__(self, version: int, bases: Mapping[str, Path]) -> None:
        self.version = version
        self._bases = dict(bases)

    @classmethod
    def discover(
        cls, root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
    ) -> "Cgroups | None":
        """Where limits can be set below our own group (so that our own limits hold for runs too)."""
        try:
            lines = own.read_text().splitlines()
        except OSError:
            return None
        return _version_1(root, lines) or _version_2(root, lines)

    @classmethod
    def working(cls) -> "Cgroups | None":
        """The same, if making one and entering it really works here."""
        cgroups = cls.discover()
        if cgroups is None:
            return None
        cgroups.sweep(_PROBE, older_than_s=60)
        try:
            group = cgroups.create(f"{_PROBE}-{os.urandom(4).hex()}.{_PROBE}", Limits())
            sleeper = subprocess.Popen(["/bin/sleep", "60"], stdin=subprocess.DEVNULL)
            try:
                group.add(sleeper.pid)
            finally:
                sleeper.kill()
                sleeper.wait()
                group.remove()
        except OSError:
            return None
        return cgroups

    def create(self, name: str, limits: Limits) -> "Cgroup":
        """A group with these limits.

        Raises FileExistsError when the name is in use, OSError where the kernel or our rights refuse.
        """
        group = self.existing(name)
        group.make()
        try:
            group.limit(limits)
        except OSError:
            group.remove()
            raise
        return group

    def names(self) -> list[str]:
        """Groups that exist, of every lease."""
        found: set[str] = set()
        for base in self._bases.values():
            if (base / _OURS).is_dir():
                found.update(entry.name for entry in (base / _OURS).iterdir() if entry.is_dir())
        return sorted(found)

    def sweep(self, prefix: str, older_than_s: float) -> None:
        """Remove empty groups with such names that nobody has used for a while."""
        for name in self.names():
            if not name.startswith(prefix):
                continue
            for base in set(self._bases.values()):
                path = base / _OURS / name
                with suppress(OSError):  # gone, or in use
                    if time.time() - path.stat().st_ctime > older_than_s:
                        path.rmdir()

    def existing(self, name: str) -> "Cgroup":
        return Cgroup(self.version, {c: base / _OURS / name for c, base in self._bases.items()})


def _version_1(root: Path, lines: list[str]) -> Cgroups | None:
    bases = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in {"memory", "pids", "cpu", "cpuacct"} & set(controllers.split(",")):
            for folder in (controllers, controller):
                base = root / folder / path.lstrip("/")
                # Inside a container the path may be named as the host sees it; the mount is then ours.
                bases[controller] = base if base.is_dir() else root / folder
                if bases[controller].is_dir():
                    break
    if {"memory", "pids"} <= bases.keys() and all(os.access(base, os.W_OK) for base in bases.values()):
        return Cgroups(1, bases)
    return None


def _version_2(root: Path, lines: list[str]) -> Cgroups | None:
    path = next((line[3:] for line in lines if line.startswith("0::")), None)
    if path is None or not (root / "cgroup.controllers").is_file():
        return None
    own = root / path.lstrip("/")
    # A group that holds processes cannot limit children (except the root): then beside us, below our parent.
    for base in (own, own.parent):
        if base.is_relative_to(root) and os.access(base, os.W_OK) and _delegates(base):
            return Cgroups(2, dict.fromkeys(("memory", "pids", "cpu"), base))
    return None


def _delegates(base: Path) -> bool:
    wanted = {"memory", "pids", "cpu"}
    control = base / "cgroup.subtree_control"
    try:
        if not wanted <= set(control.read_text().split()):
            control.write_text(" ".join(f"+{controller}" for controller in sorted(wanted)))
        return wanted <= set(control.read_text().split())
    except OSError:
        return False


class Cgroup:
    """One run's group. A Meter."""

    def __init__(self, version: int, dirs: Mapping[str, Path]) -> None:
        self._v2 = version == 2
        self._dirs = dict(dirs)

    def make(self) -> None:
        made: list[Path] = []
        try:
            for path in sorted(set(self._dirs.values())):
                path.parent.mkdir(exist_ok=True)
                if self._v2:
                    (path.parent / "cgroup.subtree_control").write_text("+cpu +memory +pids")
                path.mkdir()
                made.append(path)
        except OSError:
            for path in made:
                path.rmdir()
            raise

    def limit(self, limits: Limits) -> None:
        quota = max(1000, int(limits.cpus * _PERIOD_US))
        self._write("pids", "pids.max", limits.processes)
        if self._v2:
            self._write("memory", "memory.max", limits.memory_bytes)
            self._write("memory", "memory.swap.max", 0, optional=True)
            self._write("cpu", "cpu.max", f"{quota} {_PERIOD_US}")
        else:
            self._write("memory", "memory.limit_in_bytes", limits.memory_bytes)
            self._write("memory", "memory.memsw.limit_in_bytes", limits.memory_bytes, optional=True)
            self._write("cpu", "cpu.cfs_period_us", _PERIOD_US, optional="cpu" not in self._dirs)
            self._write("cpu", "cpu.cfs_quota_us", quota, optional="cpu" not in self._dirs)

    def add(self, pid: int) -> None:
        """Move a process; what it starts later is in the group from the first instant."""
        for path in set(self._dirs.values()):
            (path / "cgroup.procs").write_text(str(pid))

    def sample(self) -> Sample:
        if self._v2:
            cpu_s = self._table("cpu", "cpu.stat").get("usage_usec", 0) / 1e6
            rss = self._table("memory", "memory.stat").get("anon", 0)
            kills = self._table("memory", "memory.events").get("oom_kill", 0)
        else:
            cpu_s = self._number("cpuacct", "cpuacct.usage") / 1e9
            rss = self._table("memory", "memory.stat").get("total_rss", 0)
            kills = self._table("memory", "memory.oom_control").get("oom_kill", 0)
        return Sample(cpu_s, rss, self._number("pids", "pids.current"), kills)

    def kill(self) -> None:
        """Kill every process in the group, also one that is being forked meanwhile."""
        for path in set(self._dirs.values()):
            if (path / "cgroup.kill").exists():
                (path / "cgroup.kill").write_text("1")
                continue
            for pid in _lines(path / "cgroup.procs"):
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def remove(self, timeout_s: float = 5) -> None:
        """Kill what is in the group and remove it. Raises OSError when it stays busy."""
        deadline = time.monotonic() + timeout_s
        for path in set(self._dirs.values()):
            while path.is_dir():
                try:
                    path.rmdir()
                except OSError:  # EBUSY until the last zombie is gone
                    if time.monotonic() > deadline:
                        raise
                    self.kill()
                    time.sleep(0.005)

    def _write(self, controller: str, name: str, value: int | str, *, optional: bool = False) -> None:
        try:
            (self._dirs[controller] / name).write_text(str(value))
        except (KeyError, OSError):
            if not optional:
                raise

    def _number(self, controller: str, name: str) -> int:
        lines = _lines(self._dirs[controller] / name) if controller in self._dirs else []
        return int(lines[0]) if lines else 0

    def _table(self, controller: str, name: str) -> dict[str, int]:
        pairs = (line.split() for line in _lines(self._dirs[controller] / name))
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # the group is gone: ENOENT, ENODEV
        return []
