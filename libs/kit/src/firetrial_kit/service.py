"""Running a service: connections, consumers, RPC, metrics, and an orderly end.

Each service gives a `build` function; `main` runs one in a process of its own, `host` several in one.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from firetrial_kit import jetstream, logs, metrics, rpc
from firetrial_kit.bus import Bus, Consumer, Received
from firetrial_kit.clock import Clock, SystemClock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.fs import FilesystemObjects
from firetrial_kit.ids import digest
from firetrial_kit.kv import JetStreamState
from firetrial_kit.objects import GRANTS, Objects
from firetrial_kit.s3 import S3Objects
from firetrial_kit.settings import CommonSettings, SettingsError
from firetrial_kit.state import State

Log = structlog.typing.FilteringBoundLogger


@dataclass(frozen=True, slots=True)
class Parts:
    """What a service is built from. `environ` is for its own settings; `instance` names this process."""

    service: str
    environ: Mapping[str, str]
    settings: CommonSettings
    bus: Bus
    state: State
    objects: Objects
    clock: Clock
    registry: CollectorRegistry
    log: Log
    instance: str
    stack: AsyncExitStack


@dataclass(frozen=True, slots=True)
class Service:
    """A service that is ready to run: what it answers, what it takes, what it does meanwhile."""

    name: str
    register: Callable[[rpc.Server], None]
    consumers: Sequence[Consumer]
    # Coroutines that run until cancelled, such as a reaper.
    background: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()


Build = Callable[[Parts], Awaitable[Service]]


def open_objects(settings: CommonSettings, service: str) -> Objects:
    """The object store that the settings name, with the access that `service` has."""
    if settings.objects_url.startswith("file://"):
        return FilesystemObjects(Path(settings.objects_url.removeprefix("file://")), GRANTS[service])
    return S3Objects(
        settings.objects_url,
        settings.s3_access_key,
        settings.s3_secret_key.get_secret_value(),
        region=settings.s3_region,
        bucket_prefix=settings.bucket_prefix,
    )


async def serve(builds: Mapping[str, Build], environ: Mapping[str, str]) -> None:
    """Run the services until SIGTERM or SIGINT, then drain."""
    first = next(iter(builds))
    common = CommonSettings.from_env(environ, first if len(builds) == 1 else "")
    log = logs.logger(first if len(builds) == 1 else "host")
    stop, ready = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        registry = metrics.new_registry()
        kit_metrics = metrics.KitMetrics(registry)
        client = await jetstream.connect(
            common.nats_url,
            name="+".join(builds),
            user=common.nats_user,
            password=common.nats_password.get_secret_value(),
        )
        stack.push_async_callback(client.close)
        bus = jetstream.JetStreamBus(client, log)
        await bus.ensure_streams()
        tls = rpc.Tls(common.tls_cert, common.tls_key, common.tls_client_ca) if (
            common.tls_cert and common.tls_key
        ) else None  # fmt: skip
        server = rpc.Server(common.rpc_address, metrics=kit_metrics, log=log, tls=tls)
        services = []
        for name, build in builds.items():
            settings = CommonSettings.from_env(environ, name)
            parts = Parts(
                service=name,
                environ=environ,
                settings=settings,
                bus=bus,
                state=await JetStreamState.open(client, f"ft_{name}"),
                objects=open_objects(settings, name),
                clock=SystemClock(),
                registry=registry,
                log=log.bind(service=name),
                instance=f"{socket.gethostname()}-{os.getpid()}-{digest(os.urandom(8).hex(), length=6)}",
                stack=stack,
            )
            services.append(await build(parts))
        for service in services:
            service.register(server)
        metrics_port = stack.enter_context(metrics.serving(registry, common.metrics_address, ready.is_set))
        rpc_port = await server.start()
        tasks = [
            asyncio.create_task(bus.consume(counted(_tuned(consumer, common), kit_metrics), stop))
            for service in services
            for consumer in service.consumers
        ]
        background = [asyncio.create_task(work()) for service in services for work in service.background]
        ready.set()
        _announce(common, rpc_port, metrics_port)
        log.info("serving", rpc_port=rpc_port, metrics_port=metrics_port, services=list(builds))
        await _until(stop, [*tasks, *background], log)
        ready.clear()
        log.info("draining", seconds=common.drain)
        await server.set_health(serving=False)
        await _drain(tasks, common.drain, log)
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await server.stop(min(common.drain, 5.0))
    log.info("stopped")


async def _until(stop: asyncio.Event, tasks: list[asyncio.Task[None]], log: Log) -> None:
    """Return when told to stop, or when a task that should never end has ended."""
    halt = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait({halt, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    halt.cancel()
    stop.set()
    for task in done - {halt}:
        if not task.cancelled() and task.exception():
            log.error("a part ended", error=repr(task.exception()))


async def _drain(tasks: list[asyncio.Task[None]], seconds: float, log: Log) -> None:
    _, late = await asyncio.wait(tasks, timeout=seconds) if tasks else (set(), set())
    if late:
        log.warning("giving back what is in hand", consumers=len(late))
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _tuned(consumer: Consumer, settings: CommonSettings) -> Consumer:
    return replace(consumer, ack_wait=settings.ack_wait, max_deliver=settings.max_deliver)


def counted(consumer: Consumer, kit_metrics: metrics.KitMetrics) -> Consumer:
    """The consumer, with its messages counted and timed."""

    async def handle(message: Received) -> None:
        with (
            kit_metrics.in_hand.labels(consumer.name).track_inprogress(),
            kit_metrics.handling.labels(consumer.name).time(),
        ):
            await consumer.handle(message)

    def settled(result: str) -> None:
        kit_metrics.settled.labels(consumer.name, result).inc()

    return replace(consumer, handle=handle, settled=settled)


def _announce(settings: CommonSettings, rpc_port: int, metrics_port: int) -> None:
    if settings.ports_file is None:
        return
    host = settings.rpc_address.rpartition(":")[0]
    told = {
        "pid": os.getpid(),
        "rpc": f"{host}:{rpc_port}",
        "metrics": f"{settings.metrics_address.rpartition(':')[0]}:{metrics_port}",
    }
    settings.ports_file.parent.mkdir(parents=True, exist_ok=True)
    aside = settings.ports_file.with_suffix(".new")
    aside.write_text(json.dumps(told))
    aside.replace(settings.ports_file)


def main(builds: Mapping[str, Build], environ: Mapping[str, str]) -> None:
    """Run services as this process; exit 2 for bad settings, 1 for a server that is not there."""
    logs.configure(environ.get("FIRETRIAL_LOG_LEVEL") or "info")
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(serve(builds, environ))
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except FiretrialError as error:
        sys.stderr.write(f"{error.message}\n")
        sys.exit(1)
