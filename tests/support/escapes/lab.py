"""Where attempts are made: a runner with a gateway, an egress and a real sandbox, on a host with secrets."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import getpass
import gzip
import json
import os
import shutil
import socket
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from firetrial.plan.v1 import plan_pb2
from firetrial_kit.clock import SystemClock
from firetrial_kit.hosts import Address
from firetrial_kit.objects import Objects
from firetrial_kit.testing import InMemoryObjects, InMemoryState
from firetrial_runner.agent import AgentDefinition, AgentFile
from firetrial_runner.agents import Agents
from firetrial_runner.egress.outside import Ends, Outside
from firetrial_runner.egress.policy import Most
from firetrial_runner.egress.ways import Ways
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.metrics import EgressMetrics
from firetrial_runner.records import Books
from firetrial_runner.run import Run
from support import planted
from support import scripted_models as scripted
from support.escapes import Attempt
from support.sandboxes import make_rig
from support.scripted_models import ScriptedModels
from unit.runner.world import World

KEY = "sk-real-0123456789abcdefgh"
_HOSTILE = Path(__file__).with_name("hostile.py")
_PUBLIC = "93.184.215.14"
# What the names of the world outside resolve to, in turn.
_NAMES = {
    "good.example": [[_PUBLIC]],
    "other.example": [[_PUBLIC]],
    "paper.example": [[_PUBLIC]],
    "www.paper.example": [[_PUBLIC]],
    "inside.files.example": [["10.1.2.3"], ["192.168.1.1"]],
    "loopback.files.example": [["127.0.0.1"]],
    "metadata.files.example": [["169.254.169.254"]],
    "mapped.files.example": [["::ffff:127.0.0.1"]],
    "translated.files.example": [["64:ff9b::7f00:1"]],
    "rebind.files.example": [[_PUBLIC], ["127.0.0.1"]],
    "mixed.files.example": [["127.0.0.1", "10.0.0.1", _PUBLIC]],
}


@dataclass(slots=True)
class FarHosts:
    """Names and hosts beyond the egress: a server here plays all of them, and sees who is dialled."""

    port: int
    dialled: list[str] = field(default_factory=list)
    _asked: dict[str, int] = field(default_factory=dict)

    async def resolve(self, name: str) -> list[Address]:
        if name not in _NAMES:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        turn = self._asked[name] = self._asked.get(name, -1) + 1
        return [ip_address(text) for text in _NAMES[name][min(turn, len(_NAMES[name]) - 1)]]

    async def dial(self, address: Address, port: int) -> Ends:
        self.dialled.append(f"{address}:{port}")
        return await asyncio.open_connection("127.0.0.1", self.port)


async def _outside(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers whatever it is sent, HTTP or TLS, once."""
    with contextlib.suppress(OSError):
        first = await reader.read(65536)
        if first[:1] == b"\x16":
            writer.write(b"\x16\x03\x03\x00\x04\x02\x00\x00\x00")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\nhello from outside")
        await writer.drain()
        writer.close()


@dataclass(slots=True)
class Host:
    """The machine that the runner is on, with what must not be had of it."""

    folder: Path
    secret: Path
    mark: str
    listener: socket.socket
    targets: dict[str, Any]

    def harmed(self) -> Iterator[str]:
        """What an attempt did to it."""
        if self.secret.read_text() != f"secret {self.mark}" or self.secret.stat().st_nlink != 1:
            yield "the secret was changed"
        with contextlib.suppress(BlockingIOError):
            self.listener.accept()
            yield "the host's port was reached"
        if list(self.folder.rglob("planted")) or Path("/tmp/planted").exists():
            yield "a file was planted"
        mounts = Path("/proc/self/mounts").read_text()
        if str(self.folder) in mounts or self.mark in mounts:
            yield f"mounts are left: {mounts}"
        yield from (f"process left: {line}" for line in _commands(self.mark))


@contextmanager
def host(folder: Path) -> Iterator[Host]:
    """A host: a readable secret, other runs' files, sockets of each kind, a shared segment."""
    mark = f"1{uuid.uuid4().int % 10**12:012}"
    (folder / "secrets").mkdir()
    secret = folder / "secrets" / "secret"
    secret.write_text(f"secret {mark}")
    neighbour = folder / "work" / "neighbour" / "workspace"
    neighbour.mkdir(parents=True)
    (neighbour / "notes").write_text(f"secret {mark}")
    store = folder / "store" / "truth"
    store.mkdir(parents=True)
    (store / "secret.json").write_text(f"secret {mark}")
    package = planted.PACKAGE / mark
    package.mkdir(parents=True)
    (package / "tasks.json").write_text(f"secret {mark}")
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(key := int(mark[-8:]), 4096, 0o1666)
    with (
        socket.create_server(("0.0.0.0", 0)) as listener,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        listener.setblocking(False)
        abstract.bind(f"\0firetrial-{mark}")
        abstract.listen()
        unix.bind(f"/tmp/firetrial-{mark}.sock")
        unix.listen()
        targets = {
            "secret": str(secret), "mark": mark, "hint": KEY, "port": listener.getsockname()[1],
            "address": _own_address(), "work_dir": str(folder / "work"), "store": str(folder / "store"),
            "neighbour": str(neighbour / "notes"), "pid": os.getpid(), "shm": key, "user": getpass.getuser(),
            "abstract": f"firetrial-{mark}", "unix": f"/tmp/firetrial-{mark}.sock",
            "docker": os.environ.get("DOCKER_HOST", "/run/docker.sock").removeprefix("unix://"),
            "package": str(package),
            "repository": str(Path(__file__).resolve().parents[3]),
        }  # fmt: skip
        try:
            yield Host(folder, secret, mark, listener, targets)
        finally:
            Path(f"/tmp/firetrial-{mark}.sock").unlink()
            shutil.rmtree(package)
            libc.shmctl(segment, 0, None)


@dataclass(slots=True)
class Lab:
    """A runner on a host; `models` is the upstream that says what it should not."""

    world: World
    host: Host
    far: FarHosts
    models: ScriptedModels

    async def submit(self, attempt: Attempt, **fields: object) -> Run:
        """Ask for a run of it, on a task of its own."""
        files = (
            AgentFile("agent.py", attempt.program.encode()),
            AgentFile("hostile.py", _HOSTILE.read_bytes()),
            AgentFile("targets.json", json.dumps(self.host.targets).encode()),
        )
        definition = AgentDefinition(attempt.name, ("python3", "/agent/agent.py"), files)
        agents = Agents(self.world.books.agents, self.world.objects, self.world.clock)
        agent = (await agents.submit(definition)).id
        network = {"network": dict(attempt.network)} if attempt.network else {}
        task = await self.world.task(f"t-{attempt.name}", instruction="do", **network, **fields)
        limits = plan_pb2.Limits(**{n: v for n, v in attempt.limits.items() if n != "wall"})
        limits.wall_time.FromMilliseconds(int(1000 * attempt.limits.get("wall", 30)))
        plan = plan_pb2.Plan(agents=[agent], repeats=1, max_attempts=1, limits=limits)
        experiment = await self.world.experiments.submit("", (task,), plan)
        (record,) = await self.world.experiments.runs(experiment)
        return record.run

    async def conduct(self, *runs: Run) -> list[Run]:
        """See them through, at the same time."""
        records = [await self.world.books.runs.get(run.id) for run in runs]
        await asyncio.gather(*map(self.world.dispatch.take, records))
        return [await self.world.run(run.id) for run in runs]

    async def conclusion(self, run: Run) -> str:
        found = await self.world.objects.get(run.conclusion.uri) if run.conclusion else b""
        return found.decode()

    async def steps(self, run: Run) -> list[dict[str, Any]]:
        keys = sorted(await self.world.objects.keys("runs", f"runs/{run.id}/trajectory/"))
        chunks = [gzip.decompress(await self.world.objects.get(f"runs/{key}")) for key in keys]
        return [json.loads(line) for line in b"".join(chunks).splitlines()]

    async def stored(self) -> bytes:
        """All that is stored beside what was handed in, unpacked."""
        found = []
        for key in await self.world.objects.keys("runs", "runs/"):
            data = await self.world.objects.get(f"runs/{key}", max_size=2**30)
            found.append(gzip.decompress(data) if key.endswith(".gz") else data)
        return b"\n".join(found)

    async def harmed(self) -> list[str]:
        """What was done to the host, what is left on it, and what got out."""
        lease = self.world.presence.lease
        left = [left.what for left in await self.world.sandbox.leftovers() if left.lease == lease]
        folders = [path.name for path in self.world.work_dir.glob("r-*")]
        stored = await self.stored()
        got_out = [name for name in (KEY, f"secret {self.host.mark}") if name.encode() in stored]
        told = [f"{name} got out" for name in got_out]
        return [*self.host.harmed(), *left, *folders, *told]


@asynccontextmanager
async def lab(
    kind: str, folder: Path, objects: Objects | None = None, outside: Outside | None = None
) -> AsyncIterator[Lab]:
    """A lab with a sandbox of this kind.

    Its runner keeps things in `objects`, or in memory; `outside` takes the place of the lab's own far hosts.
    """
    settings = folder / "gateway.toml"
    server = await asyncio.start_server(_outside, "127.0.0.1", 0)
    far = FarHosts(server.sockets[0].getsockname()[1])
    state, clock = InMemoryState(), SystemClock()
    books, registry = Books(state), CollectorRegistry()
    outside = outside or Outside(far.resolve, far.dial)
    ways = Ways(books, EgressMetrics(registry), Most.told("open,*.files.example"), outside=lambda: outside)
    upstream = {"dialect": "openai", "models": ["small"], "key_env": "REAL_KEY", "patience_s": 1}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(server)
        found = stack.enter_context(host(folder))
        models = stack.enter_context(ScriptedModels(_indiscreet))
        told = {**upstream, "url": models.base_url}.items()
        settings.write_text("[upstreams.main]\n" + "".join(f"{n} = {json.dumps(v)}\n" for n, v in told))
        opening = Doors.by(settings, {"REAL_KEY": KEY}, books, clock, CollectorRegistry())
        doors = await stack.enter_async_context(opening)
        sandbox = make_rig(kind).sandbox
        stack.push_async_callback(sandbox.aclose)
        real: Any = {"sandbox": sandbox, "clock": clock, "objects": objects or InMemoryObjects()}
        world = World(folder / "work", state=state, doors=doors, ways=ways, **real)
        stack.callback(world.presence.leave)
        yield Lab(world, found, far, models)


def _indiscreet(request: scripted.Request) -> scripted.Reply:
    """An upstream that says the key that it was sent."""
    key = request.headers["authorization"]
    wanted = str(request.body["messages"][0]["content"])
    if wanted in {"fail", "refuse"}:
        return scripted.status(400 if wanted == "fail" else 401, f"no such key: {key}")
    if wanted == "header":
        reply = scripted.text("see my headers")
        return scripted.Reply(200, reply.body, {**reply.headers, "x-request-id": key, "x-key": key})
    if wanted == "split":
        half = len(key) // 2
        return scripted.stream(f'{{"a": "{key[:half]}', f'{key[half:]}"}}')
    return scripted.text_stream(key) if request.body.get("stream") else scripted.text(key)


def _own_address() -> str:
    """An address of this machine beside the loopback, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.2"


def _commands(mark: str) -> list[str]:
    """Command lines on this machine that hold a mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in (line := path.read_bytes()):
                found.append(line.decode(errors="replace"))
    return found
