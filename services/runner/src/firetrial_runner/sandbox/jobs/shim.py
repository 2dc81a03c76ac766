"""What a job runs: the sandbox that keeps the command, and its line to the runner.

Started as `python -I -m firetrial_runner.sandbox.jobs.shim FOLDER`, where the runner has laid an order. The
command starts once the runner answers, and ends with the connection to it: nothing goes on that nobody wants.
"""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from firetrial_kit.errors import FiretrialError
from firetrial_runner.flood import Flow, Turnstile, open_files
from firetrial_runner.gpus.device import Gpu, choose, visible
from firetrial_runner.gpus.nvml import Nvml
from firetrial_runner.sandbox.cgroup import Cgroups
from firetrial_runner.sandbox.jobs import frames
from firetrial_runner.sandbox.jobs.dialing import dial, dial_patiently
from firetrial_runner.sandbox.jobs.frames import Channel, Kind
from firetrial_runner.sandbox.jobs.order import Order, take
from firetrial_runner.sandbox.jobs.process import BEAT_S, SILENT_S
from firetrial_runner.sandbox.pick import named
from firetrial_runner.sandbox.port import Exit, Process, SandboxError, Stream, Termination

LOG = "job.log"
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU)
"""What a scheduler sends to a job that is to make room, or whose time is over."""
_SETTLING_S = 0.1
"""A scheduler signals all processes of a job: one may be seen to end by it before the signal is seen here."""
_OLD_S = 60.0
_UNSURE = frozenset({Termination.EXITED, Termination.CANCELLED, Termination.LOST})
"""Ends that may be a signal's doing, an exit with 0 among them; limits that were passed are not."""
_FLOW = Flow(at_once=600, per_s=400.0, burst=2048)
"""More than the runner's ends let through, so that it is they who count what is turned away."""
_NAMES = {Stream.STDOUT: Kind.STDOUT, Stream.STDERR: Kind.STDERR}


class Way:
    """A way out of the sandbox: whoever calls it inside is put through to the runner. See `Gateway`."""

    def __init__(self, order: Order, port: int, turnstile: Turnstile) -> None:
        self._order, self._port, self._turnstile = order, port, turnstile
        self._serving: list[asyncio.Task[asyncio.Server]] = []
        self._calls: set[asyncio.Task[None]] = set()

    def environment(self, url: str) -> Mapping[str, str]:  # noqa: ARG002 -- the port's signature
        """What the runner's end says of itself is in the order's environment."""
        return {}

    def serve(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._serving.append(asyncio.create_task(asyncio.start_server(self._begin, sock=listener)))

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._turnstile.enter():
            writer.transport.abort()
            return
        call = asyncio.create_task(self._put_through(reader, writer))
        self._calls.add(call)
        call.add_done_callback(self._over)

    def _over(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        self._turnstile.leave()

    async def _put_through(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            channel = await dial(self._order.caller, self._order.run_key, self._port)
        except OSError:
            writer.transport.abort()
            return
        await frames.join(channel, reader, writer)


class Shim:
    """One command in its job."""

    def __init__(self, order: Order, channel: Channel) -> None:
        self._order, self._channel = order, channel
        self._process: Process | None = None
        self._why_ended = ""
        self._waits = True

    async def conduct(self) -> int:
        """See the command to its end; gives the job's own exit code."""
        loop = asyncio.get_running_loop()
        for signum in _ENDING:
            loop.add_signal_handler(signum, self._end, signum)
        if not await self._may_go():
            return 1
        try:
            self._process = await self._start()
        except FiretrialError as e:
            cure = e.cure if isinstance(e, SandboxError) else ""
            await self._channel.tell(Kind.REFUSED, why=getattr(e, "why", e.message), cure=cure)
            await self._channel.aclose()
            return 0
        return await self._follow(self._process)

    async def _may_go(self) -> bool:
        """Wait for the runner's word; it has none where it has given the run up, or the scheduler the job."""
        with suppress(OSError, EOFError):
            kind, _ = await self._heard()
            self._waits = False
            return kind is Kind.GO
        return False

    async def _start(self) -> Process:
        order = self._order
        if self._why_ended:
            raise SandboxError(order.inner.name, self._why_ended, "It is tried again")
        _sweep()
        sandbox = await named(
            order.inner.name, docker_host="", docker_image="", apptainer_image=order.inner.image
        )
        ways = {port: Way(order, port, Turnstile(_FLOW, lambda _: None)) for port in order.ports}
        return await sandbox.start(order.spec(ways, _gpus(order)))

    async def _follow(self, process: Process) -> int:
        helpers = [asyncio.create_task(self._obey(process)), asyncio.create_task(self._beat())]
        if self._why_ended:
            await process.cancel()
        try:
            await self._channel.tell(Kind.STARTED, sandbox=self._order.inner.name, node=platform.node())
            async for chunk in process.output():
                await self._channel.send(_NAMES[chunk.stream], chunk.data)
            end = await process.wait()
            await asyncio.sleep(_SETTLING_S)
            await self._channel.tell(Kind.EXIT, **asdict(self._judged(end)))
            await self._channel.aclose()
        except ConnectionError:
            return 1  # the runner is gone
        finally:
            for helper in helpers:
                helper.cancel()
            await process.aclose()
        return 0

    def _judged(self, end: Exit) -> Exit:
        """How it ended, or that the scheduler ended it."""
        if self._why_ended and end.termination in _UNSURE:
            return Exit(Termination.LOST, end.usage, detail=self._why_ended)
        return end

    async def _obey(self, process: Process) -> None:
        """Do what the runner says, until it says nothing more; then there is nobody to run for."""
        orders = {Kind.PAUSE: process.pause, Kind.RESUME: process.resume}
        with suppress(OSError, EOFError):
            while True:
                kind, _ = await self._heard()
                if kind is Kind.CANCEL:
                    await process.cancel()
                elif kind in orders:
                    orders[kind]()
        self._channel.abort()
        await process.cancel()

    async def _heard(self) -> tuple[Kind, bytes]:
        async with asyncio.timeout(SILENT_S):
            return await self._channel.receive()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._channel.push(Kind.BEAT)

    def _end(self, signum: signal.Signals) -> None:
        self._why_ended = self._why_ended or f"the scheduler sent {signum.name}"
        if self._waits:
            self._channel.abort()
        if self._process is not None:
            self._ending = asyncio.ensure_future(self._process.cancel())


def _gpus(order: Order) -> tuple[Gpu, ...]:
    """Those of the job, as many as the run asks for. Raises SandboxError."""
    if not order.demand.count:
        return ()
    sight = Nvml().look()
    found = choose(order.demand, visible(sight.gpus, os.environ.get("CUDA_VISIBLE_DEVICES")))
    if found is None:
        why = f"the job was not given {order.demand.told}: {sight.why_none or 'it sees too few'}"
        raise SandboxError(order.inner.name, why, "See the scheduler's GPUs, and which are asked for")
    return found


def _sweep() -> None:
    """Remove empty control groups of jobs that were killed here; their processes died with them."""
    if (cgroups := Cgroups.discover()) is not None:
        with suppress(OSError):
            cgroups.sweep("", older_than_s=_OLD_S)


async def _run(folder: Path) -> int:
    try:
        order = take(folder)
    except FileNotFoundError:
        print("no order: this job was started again, or its run is over", file=sys.stderr)
        return 1
    return await Shim(order, await dial_patiently(order.caller, order.run_key)).conduct()


def main() -> None:
    folder = Path(sys.argv[1])
    log = os.open(folder / LOG, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    open_files()
    sys.exit(asyncio.run(_run(folder)))


if __name__ == "__main__":
    main()
