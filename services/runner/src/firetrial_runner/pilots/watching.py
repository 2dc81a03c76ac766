"""The process of `firetrial pilots`: rounds, again and again, and what is told of them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from firetrial_kit import jetstream, logs, metrics
from firetrial_kit.attendance import attendants
from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.ids import digest
from firetrial_kit.kv import JetStreamState
from firetrial_kit.settings import CommonSettings
from firetrial_runner.announce import SERVICE
from firetrial_runner.pilots import berth
from firetrial_runner.pilots.backlog_wire import Backlog
from firetrial_runner.pilots.course import Aim
from firetrial_runner.pilots.fleet import Fleet, HeldError, Round
from firetrial_runner.pilots.pilot_metrics import PilotMetrics
from firetrial_runner.pilots.starting import Pilot
from firetrial_runner.pilots.targets import targets, write
from firetrial_runner.schedulers import open_scheduler

Told = Callable[[Round | FiretrialError], None]
_LEAST_TTL_S = 10.0


async def watch(
    pilot: Pilot,
    aim: Aim,
    environ: Mapping[str, str],
    *,
    every_s: float,
    once: bool,
    told: Told,
    scraped: Path | None = None,
) -> None:
    """See to the pilots of a pool every `every_s` seconds, until SIGTERM or SIGINT; or `once`.

    `scraped` is a file that tells Prometheus of the pool's runners. Where another sees to the pool, wait
    until it is gone; `once` raises HeldError, and whatever else a round raises.
    """
    settings, log = CommonSettings.from_env(environ, SERVICE), logs.logger("pilots")
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        client = await jetstream.connected(settings, "pilots")
        stack.push_async_callback(client.close)
        registry, clock = metrics.new_registry(), SystemClock()
        state = await JetStreamState.open(client, f"ft_{SERVICE}")
        fleet = Fleet(
            pool=pilot.pool,
            aim=aim,
            scheduler=open_scheduler(pilot.scheduler, pilot.folder / "pilots"),
            work=Backlog(client),
            ledgers=berth.ledgers(state),
            spec=pilot.job,
            clock=clock,
            metrics=PilotMetrics(registry, pilot.pool, pilot.scheduler, aim),
            log=log.bind(pool=pilot.pool, scheduler=pilot.scheduler),
            site=digest(settings.objects_url, settings.bucket_prefix, length=6),
            holder=holder(os.getpid()),
            ttl_s=max(_LEAST_TTL_S, 3 * every_s),
            gone=gone,
        )

        async def go_round() -> Round:
            done = await fleet.go_round()
            if scraped is not None:
                write(scraped, targets(await attendants(state).all(), pilot.pool, clock.now()))
            return done

        if once:
            told(await go_round())
            await fleet.leave()
            return
        stack.enter_context(metrics.serving(registry, settings.metrics_address, lambda: not stop.is_set()))
        await _rounds(fleet, go_round, every_s, stop, told)
        with suppress(FiretrialError):
            await fleet.leave()


async def _rounds(
    fleet: Fleet, go_round: Callable[[], Awaitable[Round]], every_s: float, stop: asyncio.Event, told: Told
) -> None:
    while not stop.is_set():
        try:
            told(await go_round())
        except HeldError as error:
            told(error)
        except FiretrialError as error:
            fleet.metrics.failed()
            fleet.log.warning("round broken off", reason=error.reason, error=error.message)
            told(error)
        with suppress(TimeoutError):
            async with asyncio.timeout(every_s):
                await stop.wait()


def holder(pid: int) -> str:
    """Who this is: the host, and of it the boot, the space of process ids, the process and when it began."""
    return "/".join((socket.gethostname(), _boot(), _began(pid), str(pid)))


def gone(told: str) -> bool:
    """Whether a holder was a process of this machine that is no more."""
    host, boot, began, pid = told.split("/") if told.count("/") == 3 else ("", "", "", "0")
    return (host, boot) == (socket.gethostname(), _boot()) and _began(int(pid)) != began


def _boot() -> str:
    """Differs between machines, boots, and containers that do not see each other's processes."""
    space = Path("/proc/self/ns/pid").readlink().name
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}-{space}"


def _began(pid: int) -> str:
    """When a process began, in ticks since the boot; "" where it is no more."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
