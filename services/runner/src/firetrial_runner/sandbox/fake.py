"""A sandbox without processes: programs are Python functions. Public, and held to the port's contract.

A program reads and writes the run's real workspace, writes output, "allocates" memory and sleeps; the fake
holds it to the limits that it can know of.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

from firetrial_runner.sandbox.disk import used_bytes
from firetrial_runner.sandbox.host import on_loopback
from firetrial_runner.sandbox.port import Exit, Leftover, SandboxSpec, Stream, Termination, Usage
from firetrial_runner.sandbox.process import HeldProcess


class _Killed(Exception):  # noqa: N818 -- a way out, not an error
    """The program may not go on."""


class Inside:
    """What a program sees and can do."""

    def __init__(self, spec: SandboxSpec, env: Mapping[str, str], process: "FakeProcess") -> None:
        self.argv = spec.argv
        self.env: Mapping[str, str] = dict(env)
        self.workspace: Path = spec.workspace
        self.read_only: Mapping[str, Path] = dict(spec.read_only)
        self._process = process

    async def write(self, data: bytes, stream: Stream = Stream.STDOUT) -> None:
        """Write output; the program does not come back from writing more than it may."""
        await self._process.take_output(stream, data)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def allocate(self, size: int) -> None:
        """Hold `size` bytes of memory; the program does not come back from taking more than it may."""
        self._process.take_memory(size)

    def vanish(self) -> None:
        """The sandbox itself fails; the program does not come back."""
        self._process.end(Termination.LOST, "the fake sandbox was told to vanish")
        raise _Killed


Program = Callable[[Inside], Awaitable[int]]
"""Returns its exit status as a shell has it: 0 to 128, or 128+n for signal n."""


class FakeSandbox:
    """Runs `programs` by the name in argv[0]; any other name exits with 127, as in a shell."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self._programs = dict(programs)
        self._running: dict[str, FakeProcess] = {}
        self.started: list[SandboxSpec] = []

    @property
    def name(self) -> str:
        return "fake"

    def enforcement(self) -> Mapping[str, str]:
        return {"isolation": "none: nothing is run"}

    async def probe(self) -> None:
        """Works everywhere."""

    async def start(self, spec: SandboxSpec) -> "FakeProcess":
        self.started.append(spec)
        env = on_loopback(spec)
        process = FakeProcess(spec, env, self._programs.get(spec.argv[0], _not_found), self._running)
        self._running[spec.run_key] = process
        return process

    async def aclose(self) -> None:
        """Nothing is held."""

    async def leftovers(self) -> list[Leftover]:
        return [Leftover(p.spec.run_key, p.spec.lease, "program") for p in self._running.values()]

    async def reap(self, dead: Collection[str]) -> list[Leftover]:
        gone = [found for found in await self.leftovers() if found.lease in dead]
        for leftover in gone:
            self._running[leftover.run_key].end(Termination.LOST, "reaped")
        return gone


async def _not_found(inside: Inside) -> int:
    await inside.write(f"{inside.argv[0]}: not found\n".encode(), Stream.STDERR)
    return 127


class FakeProcess(HeldProcess):
    """A program that is running."""

    def __init__(
        self, spec: SandboxSpec, env: Mapping[str, str], program: Program, running: dict[str, "FakeProcess"]
    ) -> None:
        self.spec = spec
        self._running = running
        self._rss = self._oom_kills = 0
        super().__init__(spec.limits, spec.workspace)
        self._program = asyncio.create_task(self._run(program, env))

    async def take_output(self, stream: Stream, data: bytes) -> None:
        for start in range(0, len(data), 65536):
            await self._output.put(stream, data[start : start + 65536])
            if self._cause is not None:
                raise _Killed

    def take_memory(self, size: int) -> None:
        self._rss = max(self._rss, size)
        if size > self._limits.memory_bytes:
            self._oom_kills = 1
            raise _Killed

    def end(self, termination: Termination, detail: str) -> None:
        """Be killed for this cause."""
        self._kill(termination, detail)

    def _strike(self) -> None:
        self._program.cancel()

    async def _run(self, program: Program, env: Mapping[str, str]) -> int:
        try:
            return await program(Inside(self.spec, env, self))
        except (_Killed, asyncio.CancelledError):
            return 128 + 9
        finally:
            self._alive = False

    async def _supervise(self) -> Exit:
        await asyncio.wait([self._program])
        wall_s = self._died()
        status = 128 + 9 if self._program.cancelled() else self._program.result()
        self._running.pop(self.spec.run_key, None)
        await self._output.close()
        if used_bytes(self._workspace, self._limits.disk_bytes) > self._limits.disk_bytes:
            told = f"more than {self._limits.disk_bytes} bytes in the workspace"
            self._cause = self._cause or (Termination.DISK_LIMIT, told)
        return self._ended(
            status, Usage(wall_s, None, self._rss or None, self._output.delivered, self._oom_kills)
        )
