"""The runner as a process of its own, and as a part of `firetrial up`."""

from __future__ import annotations

import os

from firetrial.runner.v1.runner_service_pb2_grpc import add_RunnerServiceServicer_to_server as add
from firetrial_kit import attendance, service
from firetrial_runner.agents import Agents
from firetrial_runner.announce import SERVICE, Announcer
from firetrial_runner.config import RunnerSettings
from firetrial_runner.dispatch import Dispatch
from firetrial_runner.execution import Execution
from firetrial_runner.experiments import Experiments
from firetrial_runner.files import Files
from firetrial_runner.handlers import Handlers
from firetrial_runner.importing.intake import Intake
from firetrial_runner.kinds.sealed_wire import sealed_tests
from firetrial_runner.metrics import RunnerMetrics
from firetrial_runner.presence import Presence
from firetrial_runner.reaper import Reaper
from firetrial_runner.records import Books
from firetrial_runner.servicer import RunnerServicer


async def build(parts: service.Parts) -> service.Service:
    settings = RunnerSettings.from_env(parts.environ, SERVICE)
    sandbox = await settings.open_sandbox()
    parts.stack.push_async_callback(sandbox.aclose)
    books, clock, objects, log = Books(parts.state, parts.gate.quotas), parts.clock, parts.objects, parts.log
    metrics = RunnerMetrics(parts.registry, settings.pool, settings.slots, settings.tests)
    stay, work_dir, announce = settings.stay(parts), settings.work_dir.absolute(), Announcer(parts.bus, clock)
    presence = Presence(work_dir)
    parts.stack.callback(presence.leave)
    gpus = settings.open_gpus(parts.environ, presence, metrics.gpus.see)
    log.info("machine", devices=gpus.told, sandbox=sandbox.name, **sandbox.enforcement())
    lease, ttl, default = presence.lease, parts.settings.ack_wait, settings.default()
    parts.metrics.disks.watch(SERVICE, "work", work_dir)
    doors = await parts.stack.enter_async_context(settings.open_doors(parts, books, metrics.quota_refused))
    needs = settings.needs(sandbox, doors, books, gpus, metrics.egress)
    execution = Execution(sandbox, books.agents, objects, clock, work_dir, lease, default, needs, metrics)
    dispatch = Dispatch(books, objects, announce, clock, metrics, log, lease, ttl, execution.run, gpus, stay)
    experiments = Experiments(books, objects, announce, dispatch, clock, settings.most(), needs)
    agents, files = Agents(books.agents, objects, clock), Files(books, objects)
    intake = Intake(books, objects, agents, experiments, announce, clock, work_dir, lease)
    servicer = RunnerServicer(books, agents, experiments, dispatch, files=files, intake=intake)
    reaper = Reaper(sandbox, presence, work_dir, books, dispatch, clock, metrics, log, parts.bus)
    handlers = Handlers(books=books, dispatch=dispatch, experiments=experiments, announce=announce, log=log)
    present = attendance.of(parts, settings.pool, settings.slots, metrics.running, settings.kinds)
    tests = sealed_tests(execution, dispatch, parts.bus)
    return service.Service(
        SERVICE,
        lambda server: server.add("firetrial.runner.v1.RunnerService", add, servicer),
        [*handlers.consumers(settings.pool, settings.slots), *tests.consumers(settings.pool, settings.tests)],
        [reaper.run, gpus.watch, stay.watch, present.run],
    )


def main() -> None:
    service.main({SERVICE: build}, os.environ)
