"""A runner whose parts are all in memory, but for the workspaces."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog
from google.protobuf.json_format import MessageToJson
from prometheus_client import CollectorRegistry

from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_kit.bus import Consumer
from firetrial_kit.testing import InMemoryBus, InMemoryObjects, InMemoryState, ManualClock
from firetrial_kit.tokens import Quotas
from firetrial_runner.agent import AgentDefinition
from firetrial_runner.agents import Agents
from firetrial_runner.allowance import DEFAULT, MOST
from firetrial_runner.announce import Announcer
from firetrial_runner.dispatch import Dispatch
from firetrial_runner.egress.ways import Ways
from firetrial_runner.execution import Execution
from firetrial_runner.experiments import Experiments
from firetrial_runner.files import Files
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.gpus.claims import Claims
from firetrial_runner.gpus.gpus import Gpus
from firetrial_runner.gpus.inventory import FakeInventory
from firetrial_runner.handlers import Handlers
from firetrial_runner.importing.intake import Intake
from firetrial_runner.kinds.sealed_wire import SealedTests, sealed_tests
from firetrial_runner.metrics import RunnerMetrics
from firetrial_runner.needs import Needs
from firetrial_runner.pilots.stay import Stay
from firetrial_runner.presence import Presence
from firetrial_runner.programs import Shelf
from firetrial_runner.reaper import Reaper
from firetrial_runner.records import Books, unlimited
from firetrial_runner.run import Run
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from firetrial_runner.servicer import RunnerServicer

Program = Callable[[Inside], Awaitable[int]]
TTL_S = 30.0


async def _conclude(inside: Inside) -> int:
    await inside.write(b"working\n")
    (inside.workspace / "conclusion.md").write_text("noise lowers accuracy")
    (inside.workspace / "table.csv").write_text("k,accuracy\n1,0.9\n")
    return 0


async def _say(inside: Inside) -> int:
    await inside.write(b"thinking\nFINAL CONCLUSION:\nmore neighbours help\n")
    return 0


async def _nothing(_: Inside) -> int:
    return 3


async def _sleep(inside: Inside) -> int:
    await inside.write(b"up\n")
    await inside.sleep(60)
    return 0


async def _vanish(inside: Inside) -> int:
    inside.vanish()
    return 0


PROGRAMS: dict[str, Program] = {
    "conclude": _conclude,
    "say": _say,
    "nothing": _nothing,
    "sleep": _sleep,
    "vanish": _vanish,
}


@dataclass(slots=True)
class World:
    """What outlives a runner is given to the next one by `again`."""

    work_dir: Path
    bus: InMemoryBus = field(default_factory=InMemoryBus)
    state: InMemoryState = field(default_factory=InMemoryState)
    objects: InMemoryObjects = field(default_factory=InMemoryObjects)
    clock: ManualClock = field(default_factory=ManualClock)
    sandbox: FakeSandbox = field(default_factory=lambda: FakeSandbox(PROGRAMS))
    doors: Doors | None = None
    shelf: Shelf | None = None
    data: Path | None = None
    images: tuple[str, ...] = ()
    ways: Ways | None = None
    quotas: Callable[[str], Quotas] = unlimited
    inventory: FakeInventory = field(default_factory=FakeInventory)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    stay: Stay = field(init=False)
    gpus: Gpus = field(init=False)
    books: Books = field(init=False)
    presence: Presence = field(init=False)
    dispatch: Dispatch = field(init=False)
    experiments: Experiments = field(init=False)
    intake: Intake = field(init=False)
    servicer: RunnerServicer = field(init=False)
    handlers: Handlers = field(init=False)
    sealed: SealedTests = field(init=False)
    reaper: Reaper = field(init=False)

    def __post_init__(self) -> None:
        log = structlog.get_logger()
        self.books = Books(self.state, self.quotas)
        self.presence = Presence(self.work_dir)
        self.stay = Stay(self.clock, log)
        metrics = RunnerMetrics(self.registry, "default", 2)
        announce = Announcer(self.bus, self.clock)
        lease = self.presence.lease
        shelf, ways = (
            self.shelf or Shelf(self.work_dir / "programs"),
            self.ways or Ways(self.books, metrics.egress),
        )
        self.gpus = Gpus(self.inventory, Claims(self.work_dir / "gpus", self.presence))
        needs = Needs("default", shelf, self.doors, self.data, ways, self.gpus, images=self.images)
        execution = Execution(
            self.sandbox,
            self.books.agents,
            self.objects,
            self.clock,
            self.work_dir,
            lease,
            DEFAULT,
            needs,
            metrics,
        )
        self.dispatch = Dispatch(
            self.books,
            self.objects,
            announce,
            self.clock,
            metrics,
            log,
            lease,
            TTL_S,
            execution.run,
            self.gpus,
            self.stay,
        )
        self.experiments = Experiments(
            self.books, self.objects, announce, self.dispatch, self.clock, MOST, needs
        )
        agents = Agents(self.books.agents, self.objects, self.clock)
        files = Files(self.books, self.objects)
        self.intake = Intake(
            self.books, self.objects, agents, self.experiments, announce, self.clock, self.work_dir, lease
        )
        self.servicer = RunnerServicer(
            self.books, agents, self.experiments, self.dispatch, files=files, intake=self.intake
        )
        self.handlers = Handlers(
            books=self.books,
            dispatch=self.dispatch,
            experiments=self.experiments,
            announce=announce,
            log=log,
        )
        self.sealed = sealed_tests(execution, self.dispatch, self.bus)
        self.reaper = Reaper(
            self.sandbox,
            self.presence,
            self.work_dir,
            self.books,
            self.dispatch,
            self.clock,
            metrics,
            log,
            self.bus,
            quiet_s=0.05,
        )

    def again(self, sandbox: FakeSandbox | None = None) -> World:
        """Another runner over the same bus, state and objects."""
        kept = {"bus": self.bus, "state": self.state, "objects": self.objects, "clock": self.clock}
        return World(self.work_dir, sandbox=sandbox or FakeSandbox(PROGRAMS), quotas=self.quotas, **kept)  # type: ignore[arg-type]

    def consumer(self, name: str) -> Consumer:
        """The consumer with this name; work is "runner-default", tests are "runner-test-default"."""
        consumers = [*self.handlers.consumers("default", 2), *self.sealed.consumers("default", 1)]
        found = {consumer.name: consumer for consumer in consumers}
        return replace(found[name], backoff=(0.0,))

    async def deliver(self, name: str = "runner-default") -> list[str]:
        """Deliver what is due; how it was settled."""
        return await self.bus.deliver(self.consumer(name))

    async def agent(self, program: str) -> str:
        """Register an agent that runs a program of the fake sandbox."""
        agents = Agents(self.books.agents, self.objects, self.clock)
        return (await agents.submit(AgentDefinition(program, (program,)))).id

    async def task(self, id_: str = "task-1", **fields: object) -> str:
        """Put a task as the parser does."""
        told = {"id": id_, "instruction": f"instruction of {id_}", **fields}
        task = task_pb2.Task(**told)  # type: ignore[arg-type]
        await self.objects.put(
            "runs", f"tasks/{id_}/task.json", MessageToJson(task).encode(), "application/json"
        )
        return id_

    async def submit(self, program: str, **plan: object) -> list[Run]:
        """An experiment of one task and one agent; its runs."""
        wanted = plan_pb2.Plan(agents=[await self.agent(program)], repeats=1)
        wanted.MergeFrom(plan_pb2.Plan(**plan))  # type: ignore[arg-type]
        experiment = await self.experiments.submit("", (await self.task(),), wanted)
        return [record.run for record in await self.experiments.runs(experiment)]

    async def run(self, id_: str) -> Run:
        return (await self.books.runs.get(id_)).run

    def facts(self, name: str) -> list[bytes]:
        """Payloads of the facts of one name, in order."""
        return [out.data for out in self.bus.published if f".{name}." in out.subject]

    def work(self) -> list[str]:
        return [out.message_id for out in self.bus.published if out.subject.startswith("ft.work.")]


async def until(ready: Callable[[], Awaitable[bool]], seconds: float = 5.0) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(seconds):
        while not await ready():
            await asyncio.sleep(0.01)
