"""Running a service: connections, consumers, RPC, metrics, and an orderly end.

Each service gives a `build` function; `main` runs one in a process of its own, `host` several in one.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog
from nats.aio.client import Client
from prometheus_client import CollectorRegistry

from firetrial_kit import auth, jetstream, logs, metrics, rpc, telemetry, tenants, trace, whole
from firetrial_kit.audit import Audit
from firetrial_kit.bus import Bus, Consumer, Received
from firetrial_kit.clock import Clock, SystemClock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.events import WORK
from firetrial_kit.figures import BrokerFigures, Figures
from firetrial_kit.fs import FilesystemObjects
from firetrial_kit.ids import digest
from firetrial_kit.keeping import Keeper, steward
from firetrial_kit.kv import JetStreamState
from firetrial_kit.labels import clean
from firetrial_kit.measured import MeasuredObjects
from firetrial_kit.objects import GRANTS, Objects
from firetrial_kit.s3 import S3Objects
from firetrial_kit.settings import CommonSettings, SettingsError
from firetrial_kit.state import State
from firetrial_kit.trace import Kind

Log = structlog.typing.FilteringBoundLogger
_ENDS = (signal.SIGTERM, signal.SIGINT)


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
    metrics: metrics.KitMetrics
    # What the broker says of itself.
    broker: Callable[[], Awaitable[Figures]]
    log: Log
    instance: str
    stack: AsyncExitStack
    gate: auth.Gate = auth.UNGUARDED
    # Set to take no more work, see through what is in hand however long that takes, and end. None in a
    # process that hosts other services, too.
    retire: asyncio.Event | None = None
    # Where others reach its page of metrics, as host:port; empty where nobody beyond this machine does.
    page: str = ""

    @property
    def registry(self) -> CollectorRegistry:
        return self.metrics.registry


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
        ca=settings.objects_tls_ca,
    )


def measured_objects(settings: CommonSettings, service: str, kit_metrics: metrics.KitMetrics) -> Objects:
    """The same, with what `service` does there counted."""
    kit_metrics.objects.expect(GRANTS[service])
    if settings.objects_url.startswith("file://"):
        kit_metrics.disks.watch(service, "objects", Path(settings.objects_url.removeprefix("file://")))
    return MeasuredObjects(open_objects(settings, service), kit_metrics.objects)


@dataclass(frozen=True, slots=True)
class _Process:
    """What all services of one process share."""

    settings: CommonSettings
    environ: Mapping[str, str]
    client: Client
    bus: Bus
    metrics: metrics.KitMetrics
    gate: auth.Gate
    server: rpc.Server
    metrics_port: int
    log: Log
    stack: AsyncExitStack
    # Of a process with one service alone.
    retire: asyncio.Event | None

    async def build(self, name: str, build: Build) -> tuple[Service, list[Keeper]]:
        """The service of that name, and who keeps its state in step with its objects, where that is done."""
        state = await JetStreamState.open(self.client, f"ft_{name}")
        parts = self._parts(name, state)
        known = steward(name)
        keepers = [Keeper(self.client, state, parts.objects, known, parts.log)] if known else []
        return await build(parts), keepers

    def _parts(self, name: str, state: State) -> Parts:
        settings = CommonSettings.from_env(self.environ, name)
        self.metrics.runs(name)
        return Parts(
            service=name,
            environ=self.environ,
            settings=settings,
            bus=self.bus,
            state=state,
            objects=measured_objects(settings, name, self.metrics),
            clock=SystemClock(),
            metrics=self.metrics,
            broker=BrokerFigures(self.client).read,
            log=self.log.bind(service=name),
            instance=f"{socket.gethostname()}-{os.getpid()}-{digest(os.urandom(8).hex(), length=6)}",
            page=metrics.reachable(settings.metrics_address, self.metrics_port),
            stack=self.stack,
            gate=self.gate,
            retire=self.retire,
        )


async def serve(builds: Mapping[str, Build], environ: Mapping[str, str]) -> None:
    """Run the services until SIGTERM or SIGINT, then drain."""
    stop, ready, retiring = _told_to_end(), asyncio.Event(), asyncio.Event()
    async with AsyncExitStack() as stack:
        process = await _process(builds, environ, stack, ready, retiring)
        common, server, log = process.settings, process.server, process.log
        services: list[Service] = []
        keepers: list[Keeper] = []
        for name, build in builds.items():
            service, keeping = await process.build(name, build)
            service.register(server)
            services.append(service)
            keepers += keeping
        rpc_port = await server.start()
        consumers = [
            counted(_tuned(consumer, common), process.metrics)
            for service in services
            for consumer in service.consumers
        ]
        retirement = _Retirement(process.bus, stop, retiring, consumers)
        tasks = [asyncio.create_task(retirement.consume(consumer)) for consumer in consumers]
        meanwhile = [work for service in services for work in service.background]
        background = [asyncio.create_task(work()) for work in (*meanwhile, *(one.run for one in keepers))]
        ready.set()
        _announce(common, rpc_port, process.metrics_port)
        log.info("serving", rpc_port=rpc_port, metrics_port=process.metrics_port, services=list(builds))
        await _until(stop, [*tasks, *background, asyncio.create_task(retirement.run())], log)
        retiring.set()
        ready.clear()
        log.info("draining", seconds=common.drain)
        await server.set_health(serving=False)
        await _drain(tasks, common.drain, log)
        await ended(background)
        await server.stop(min(common.drain, 5.0))
    log.info("stopped")


def _told_to_end() -> asyncio.Event:
    """Set once this process is told to end. To be told again changes nothing, not even in its last moment."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def told(*_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    for number in _ENDS:
        signal.signal(number, told)
    return stop


async def _process(
    builds: Mapping[str, Build],
    environ: Mapping[str, str],
    stack: AsyncExitStack,
    ready: asyncio.Event,
    retiring: asyncio.Event,
) -> _Process:
    alone = next(iter(builds)) if len(builds) == 1 else ""
    common = CommonSettings.from_env(environ, alone)
    log = logs.logger(alone or "host")
    registry = metrics.new_registry()
    kit_metrics = metrics.KitMetrics(registry)
    stack.enter_context(telemetry.exporting(environ, alone or "host", registry, log))
    client = await jetstream.connected(common, "+".join(builds))
    stack.push_async_callback(client.close)
    bus = jetstream.JetStreamBus(client, log)
    await bus.ensure_streams()
    tls = rpc.Tls(common.tls_cert, common.tls_key, common.tls_client_ca) if (
        common.tls_cert and common.tls_key
    ) else None  # fmt: skip
    gate, audit = auth.open_gate(common.tokens_file, SystemClock(), log), Audit(bus, SystemClock(), log)
    server = rpc.Server(common.rpc_address, metrics=kit_metrics, log=log, tls=tls, gate=gate, audit=audit)
    port = stack.enter_context(metrics.serving(registry, common.metrics_address, ready.is_set))
    retire = retiring if alone else None
    return _Process(common, environ, client, bus, kit_metrics, gate, server, port, log, stack, retire)


class _Retirement:
    """Consumers of work end once `retiring` is set, the others once `stop` is: when no work is in hand."""

    def __init__(
        self, bus: Bus, stop: asyncio.Event, retiring: asyncio.Event, consumers: Sequence[Consumer]
    ) -> None:
        self._bus, self._stop, self._retiring = bus, stop, retiring
        self._working = {consumer.name for consumer in consumers if consumer.stream == WORK}
        self._idle = asyncio.Event()
        self._look()

    async def consume(self, consumer: Consumer) -> None:
        if consumer.name not in self._working:
            await self._bus.consume(consumer, self._stop)
            return
        await self._bus.consume(consumer, self._retiring)
        self._working.discard(consumer.name)
        self._look()
        await self._stop.wait()

    async def run(self) -> None:
        await self._retiring.wait()
        await self._idle.wait()
        self._stop.set()

    def _look(self) -> None:
        if not self._working:
            self._idle.set()


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


async def ended(tasks: Collection[asyncio.Task[None]], again: float = 10.0) -> None:
    """Cancel until all have ended, every `again` seconds: a library may swallow a cancellation."""
    pending = {*tasks}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=again)
    await asyncio.gather(*tasks, return_exceptions=True)


def _tuned(consumer: Consumer, settings: CommonSettings) -> Consumer:
    return replace(consumer, ack_wait=settings.ack_wait, max_deliver=settings.max_deliver)


def counted(consumer: Consumer, kit_metrics: metrics.KitMetrics) -> Consumer:
    """The consumer, with its messages counted, timed and traced."""
    name = consumer.name

    async def handle(message: Received) -> None:
        if message.delivered > 1:
            kit_metrics.redelivered.labels(name).inc()
        with (
            kit_metrics.in_hand.labels(name).track_inprogress(),
            kit_metrics.handling.labels(name).time(),
            trace.span(f"process {name}", Kind.CONSUMER, _told(consumer, message)),
            tenants.acting(_owner(message)),
        ):
            await consumer.handle(message)

    async def fail(message: Received, error: FiretrialError) -> None:
        with (
            trace.span(f"fail {name}", Kind.CONSUMER, _told(consumer, message)) as span,
            tenants.acting(_owner(message)),
        ):
            span.fail(error.reason)
            await consumer.fail(message, error)

    def settled(result: str) -> None:
        kit_metrics.settled.labels(name, result).inc()

    kit_metrics.redelivered.labels(name)
    return replace(consumer, handle=handle, fail=fail, settled=settled)


def _owner(message: Received) -> str | None:
    """The tenant whose resource a message is about: what follows from it is done for that tenant alone."""
    owner = tenants.of(message.headers.get("ce-subject", ""))
    return None if owner == tenants.LOCAL else owner


def _told(consumer: Consumer, message: Received) -> dict[str, trace.Value]:
    """What a span says of a message, in OpenTelemetry's words for messaging."""
    return {
        "messaging.system": "nats",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": consumer.stream,
        "messaging.consumer.group.name": consumer.name,
        "messaging.message.id": clean(message.headers.get("ce-id", "")),
        "firetrial.subject": clean(message.subject),
        "firetrial.delivered": message.delivered,
    }


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
    whole.put(settings.ports_file, json.dumps(told))


def main(builds: Mapping[str, Build], environ: Mapping[str, str]) -> None:
    """Run services as this process; exit 2 for bad settings, 1 for a server that is not there."""
    logs.configure(environ.get("FIRETRIAL_LOG_LEVEL") or "info")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what a crash leaves on a disk would hold keys
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(serve(builds, environ))
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except FiretrialError as error:
        sys.stderr.write(f"{error.message}\n")
        sys.exit(1)
    finally:
        # Python would give back their meaning to die of before it is gone.
        for number in _ENDS:
            signal.signal(number, signal.SIG_IGN)
