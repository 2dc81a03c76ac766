"""The port: a command runs in a prepared workspace, is held to limits, and ends in exactly one way."""

import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_runner.gpus.device import NOTHING, Demand, Gpu

MIB = 1024**2
GIB = 1024**3

WORKSPACE = "/workspace"
"""Where the command finds its writable workspace, and where it starts."""

HOME = "/home/agent"
"""A private, empty home directory that is thrown away with the run."""

GATEWAY_PORT, EGRESS_PORT = 8462, 8463
"""Where a command finds the gateway and the egress of its run, where it has them; there is nothing else."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


Waits = Callable[[str], Awaitable[None]]
"""Told what a command waits for before it can start, each time that changes, and "" once it starts."""


class Stream(StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"


class Termination(StrEnum):
    """How a command ended."""

    EXITED = "exited"  # by itself: see the code or the signal
    TIMED_OUT = "timed_out"
    OOM_KILLED = "oom_killed"
    CANCELLED = "cancelled"
    OUTPUT_LIMIT = "output_limit"
    DISK_LIMIT = "disk_limit"
    GATE = "gate"  # it was never started: its proposal did not pass
    LOST = "lost"  # the sandbox failed or vanished: not the command's doing


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use. Times are seconds, sizes are bytes.

    wall_s: from the start of the command to its death, by a monotonic clock.
    cpus: cores' worth of CPU time per second.
    memory_bytes, processes: of the whole process tree.
    file_bytes: of any one file. open_files: per process.
    output_bytes: stdout and stderr together. disk_bytes: the workspace.
    tmp_bytes: each of /tmp, /dev/shm and the home directory.
    """

    wall_s: float = 3600
    cpus: float = 1
    memory_bytes: int = 2 * GIB
    processes: int = 256
    file_bytes: int = 1 * GIB
    open_files: int = 1024
    output_bytes: int = 10 * MIB
    disk_bytes: int = 4 * GIB
    tmp_bytes: int = 256 * MIB

    def faults(self, path: str = "limits") -> Iterator[Fault]:
        for limit in fields(self):
            value = getattr(self, limit.name)
            least = 0.01 if limit.name in {"wall_s", "cpus"} else 1
            if not least <= value <= 2**53:
                yield Fault(f"{path}.{limit.name}", str(value), f"a number from {least} to 2^53")


class Gateway(Protocol):
    """Who answers on a port of the loopback inside a sandbox."""

    def environment(self, url: str) -> Mapping[str, str]:
        """What the command's environment says of it, which finds it at `url`."""

    def serve(self, listener: socket.socket) -> None:
        """Answer on a socket that listens inside the sandbox, and is handed over."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """A command to run. Raises INVALID with every fault.

    run_key names the run and lease the claim under which it runs: both are put on everything that the
    sandbox makes, so that what a dead runner left can be told from what is alive.
    read_only maps a path inside to a file or directory of the host.
    image is what Docker runs; other sandboxes show the host's own programs.
    gpus are the run's own, and no others are to be reached; demand is what the run asks for, where it is only
    given them with its place, as by a scheduler.
    gateway leads to the models and egress to the network, where there are any: both listen before the
    command starts. Their environment gives way to `env`.
    waits is told of a queue in which the command waits, where there is one.
    """

    run_key: str
    lease: str
    argv: tuple[str, ...]
    workspace: Path
    env: Mapping[str, str] = field(default_factory=dict)
    read_only: Mapping[str, Path] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    image: str | None = None
    gateway: Gateway | None = None
    egress: Gateway | None = None
    gpus: tuple[Gpu, ...] = ()
    demand: Demand = NOTHING
    waits: Waits | None = None

    @property
    def ways(self) -> dict[int, Gateway]:
        """Who answers inside, by port."""
        both = {GATEWAY_PORT: self.gateway, EGRESS_PORT: self.egress}
        return {port: way for port, way in both.items() if way is not None}

    def environment(self, at: Mapping[int, int] | None = None) -> dict[str, str]:
        """What is said of the ways out, and `env`. `at` are the real ports, where they are others."""
        told: dict[str, str] = {}
        for port, way in self.ways.items():
            told |= way.environment(f"http://127.0.0.1:{(at or {}).get(port, port)}")
        return {**told, **self.env, **self._of_gpus()}

    def _of_gpus(self) -> dict[str, str]:
        return {"CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in self.gpus)} if self.gpus else {}

    def __post_init__(self) -> None:
        check("the command for a sandbox", self._faults())

    def _faults(self) -> Iterator[Fault]:
        for name, value in (("run_key", self.run_key), ("lease", self.lease)):
            if not _NAME.fullmatch(value):
                yield Fault(name, repr(value), "1 to 64 of a-z, 0-9 and -, not starting with -")
        yield from self._command_faults()
        yield from self._mount_faults()
        yield from self.limits.faults()

    def _command_faults(self) -> Iterator[Fault]:
        if not self.argv or not self.argv[0]:
            yield Fault("argv", repr(self.argv), "at least the program's name")
        if any("\0" in part for part in (*self.argv, *self.env.values())):
            yield Fault("argv, env", "a NUL character", "text without NUL")
        for variable in self.env:
            if not _VARIABLE.fullmatch(variable):
                yield Fault("env", repr(variable), "a variable's name: letters, digits and _")

    def _mount_faults(self) -> Iterator[Fault]:
        if not (self.workspace.is_absolute() and self.workspace.is_dir()):
            yield Fault("workspace", str(self.workspace), "an existing directory, by its absolute path")
        for inside, host in self.read_only.items():
            if not inside.startswith("/") or ".." in inside.split("/"):
                yield Fault("read_only", inside, "an absolute path inside the sandbox, without ..")
            if not (host.is_absolute() and host.exists()):
                yield Fault("read_only", str(host), "an existing file or directory, by its absolute path")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes as they came; offset_s counts from the start of the command, by a monotonic clock."""

    stream: Stream
    data: bytes
    offset_s: float


@dataclass(frozen=True, slots=True)
class Usage:
    """What the whole process tree used; None is unknown, never 0.

    output_bytes counts what was delivered. oom_kills counts processes killed for memory: a command may
    lose a child that way and go on.
    """

    wall_s: float
    cpu_s: float | None
    max_rss_bytes: int | None
    output_bytes: int
    oom_kills: int = 0


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a command.

    code or signal is set when the command ended by itself or for want of memory. As in a shell, a program
    that exits with 128+n cannot be told from one that signal n ended: both are reported as the signal. A
    program that cannot be started exits with 127 (not found) or 126 (not executable).
    detail says what was exceeded or lost, in words.
    """

    termination: Termination
    usage: Usage
    code: int | None = None
    signal: int | None = None
    detail: str = ""


def ended(status: int) -> tuple[int | None, int | None]:
    """(code, signal) of Exit for a shell's exit status."""
    return (None, status - 128) if 128 < status <= 128 + 64 else (status, None)


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that a sandbox made and that still exists: a process, a container, a control group."""

    run_key: str
    lease: str
    what: str


class SandboxError(FiretrialError):
    """This kind of sandbox does not work on this machine; `cure` says what to do about it."""

    def __init__(self, sandbox: str, why: str, cure: str) -> None:
        super().__init__(Reason.UNAVAILABLE, f"{sandbox}: {why}. {cure}")
        self.sandbox, self.why, self.cure = sandbox, why, cure


class Process(Protocol):
    """A started command.

    Read `output` to its end, then `wait`. Output that is not read stops the command once some hundred
    KiB are waiting; `wait` without `output` throws the output away.
    """

    @property
    def place(self) -> str:
        """Where it runs, where the sandbox's name does not say it all: a job, a node; ""."""

    def output(self) -> AsyncIterator[Chunk]:
        """The output as it comes, ending after the command. May be asked for once."""

    async def wait(self) -> Exit:
        """How it ended. Returns when the whole process tree is dead and nothing of it is left."""

    async def cancel(self) -> None:
        """Kill it; it ends as CANCELLED unless it had ended before."""

    def pause(self) -> None:
        """Stop the clock of its wall_s, for as long again at most: what it waits for is not its doing."""

    def resume(self) -> None:
        """Let the clock go on; once for each `pause`."""

    async def aclose(self) -> None:
        """Kill what still runs and release everything; for contextlib.aclosing."""


class Sandbox(Protocol):
    @property
    def name(self) -> str: ...

    async def probe(self) -> None:
        """Raises SandboxError when it does not work on this machine."""

    def enforcement(self) -> Mapping[str, str]:
        """Which mechanism holds each limit here, for logs and for `doctor`."""

    async def start(self, spec: SandboxSpec) -> Process:
        """Start a command. Raises SandboxError when the sandbox cannot be set up."""

    async def leftovers(self) -> list[Leftover]:
        """Everything of any lease that exists now, living runs included."""

    async def reap(self, dead: Collection[str]) -> list[Leftover]:
        """Remove everything that belongs to these leases, and what could not be removed in its time.

        Returns what was removed.
        """

    async def aclose(self) -> None:
        """Give back what the sandbox itself holds, such as a connection. Commands are not touched."""
