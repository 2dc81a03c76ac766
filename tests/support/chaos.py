"""A storm over runs that go on: runners and agents die by (seeded) chance. And what must hold after it."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from firetrial_runner.run import Run
from firetrial_runner.sandbox.cgroup import Cgroups
from support import scripted_models as scripted
from support.cluster import Cluster

AGENT = """
import http.client, json, os, sys, time, urllib.parse
name, calls = sys.argv[1], int(sys.argv[2])
slot = f"{open('instruction.txt').read().split()[-1]} {name} {os.environ['FIRETRIAL_REPEAT']}"
nonce, base = os.urandom(6).hex(), urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
for number in range(1, calls + 1):
    time.sleep(0.05)
    said = {"role": "user", "content": f"{slot} {nonce} {number}"}
    body = json.dumps({"model": "small", "messages": [said]})
    gateway = http.client.HTTPConnection(base.hostname, base.port)
    gateway.request("POST", base.path + "/chat/completions", body, headers)
    answer = gateway.getresponse()
    told = answer.read()
    print(number, answer.status, flush=True)
    if answer.status != 200:
        sys.exit(1)
if name == "sleepy":
    time.sleep(300)
if name != "silent":
    open("conclusion.md", "w").write(json.loads(told)["choices"][0]["message"]["content"])
time.sleep(0.05)
"""

Slot = tuple[str, str, int]
"""(task, agent, repeat), by their names."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that reached the upstream: from which slot and process, its how many-th, and when."""

    slot: Slot
    nonce: str
    number: int
    at: float


class Ledger:
    """Every call that reached the upstream, as the upstream saw it."""

    def __init__(self, answer: str) -> None:
        self.calls: list[Call] = []
        self._answer = answer

    def reply(self, request: scripted.Request) -> scripted.Reply:
        task, agent, repeat, nonce, number = request.prompt.split()
        self.calls.append(Call((task, agent, int(repeat)), nonce, int(number), time.time()))
        return scripted.text(self._answer)

    def by_slot(self) -> dict[Slot, list[Call]]:
        found: dict[Slot, list[Call]] = defaultdict(list)
        for call in self.calls:
            found[call.slot].append(call)
        return found


def call_faults(calls: Iterable[Call], attempts: Iterable[Run]) -> Iterator[str]:
    """What is wrong with the calls of one slot: each is of an attempt that was running, and came once."""
    spans = [
        (run, run.started_at.timestamp(), run.ended_at.timestamp())
        for run in attempts
        if run.started_at and run.ended_at
    ]
    owners: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        running = [run.id for run, begun, ended in spans if begun <= call.at <= ended]
        owners[call.nonce].update(running)
        if len(running) != 1:
            told = [(run.id, run.outcome, begun - call.at, ended - call.at) for run, begun, ended in spans]
            yield f"{call} reached the upstream in {len(running)} attempts: {told}"
    for nonce, runs in owners.items():
        if len(runs) > 1:
            yield f"the process {nonce} called in {runs}"
    if len({run for runs in owners.values() for run in runs}) != len(owners):
        yield f"an attempt had several processes: {dict(owners)}"
    for (nonce, number), times in Counter((call.nonce, call.number) for call in calls).items():
        if times > 1:
            yield f"call {number} of {nonce} was paid {times} times"


@dataclass(slots=True)
class Storm:
    """Ends and freezes `runners` of a cluster and processes of the agents whose argv holds `mark`.

    `done` tells how many runs are over, of `runs`: the blows fall spread over them.
    """

    system: Cluster
    runners: tuple[str, ...]
    mark: str
    chance: random.Random
    runs: int
    done: Callable[[], int]
    freeze_s: float
    struck: Counter[str] = field(default_factory=Counter)

    async def rage(self, blows: int) -> None:
        """Strike so many times, each kind in turn."""
        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "runner": self._kill_runner,
            "agent": self._kill_agent,
            "starting runner": self._kill_starting,
            "sandbox": self._kill_sandbox,
            "freeze": self._freeze,
        }
        moments = sorted(self.chance.uniform(0.02, 0.9) * self.runs for _ in range(blows))
        names = [name for _ in range(blows) for name in kinds][:blows]
        self.chance.shuffle(names)
        for moment, name in zip(moments, names, strict=True):
            while self.done() < moment:
                await asyncio.sleep(0.05)
            await asyncio.sleep(self.chance.uniform(0, 0.5))
            await kinds[name]()

    async def _kill_runner(self) -> None:
        name = self.chance.choice(self.runners)
        self._kill(name)
        await self._start(name)

    async def _kill_starting(self) -> None:
        name = self.chance.choice(self.runners)
        self._kill(name)
        self.system.begin(name)
        await asyncio.sleep(self.chance.uniform(0.3, 2.5))
        self._kill(name)
        await self._start(name)

    async def _freeze(self) -> None:
        """A runner that stands still for longer than its leases last, and then goes on."""
        process = self.system.processes[self.chance.choice(self.runners)]
        process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(self.freeze_s)
        finally:
            process.send_signal(signal.SIGCONT)
        self.struck["freeze"] += 1

    async def _kill_agent(self) -> None:
        """Something inside a sandbox: the agent, what becomes it, or process 1, whose end looks the same."""
        await self._kill_one("agent", outside=False)

    async def _kill_sandbox(self) -> None:
        """What holds a sandbox."""
        await self._kill_one("sandbox", outside=True)

    async def _kill_one(self, name: str, *, outside: bool) -> None:
        """One of ours, as soon as there is one."""
        while self.done() < self.runs:
            ours = {pid for pid, _ in processes(self.mark)}
            found = [pid for pid in sorted(ours) if (_parent(pid) not in ours) == outside]
            if found and _kill(self.chance.choice(found), self.mark):
                self.struck[name] += 1
                return
            await asyncio.sleep(0.02)

    def _kill(self, name: str) -> None:
        self.system.kill(name)
        self.struck["runner"] += 1

    async def _start(self, name: str) -> None:
        await asyncio.sleep(self.chance.uniform(0, 1))
        await asyncio.to_thread(self.system.start, name)


def agents(mark: str) -> list[int]:
    """The agents that run: not the sandboxes around them, nor what only begins."""
    return [pid for pid, argv in processes(mark) if argv[0] == b"python3"]


def in_work(folder: Path) -> list[str]:
    """What runs have in the work folder of a cluster."""
    return [path.name for path in (folder / "work").iterdir() if path.name not in {"runners", "gpus"}]


def processes(mark: str) -> list[tuple[int, list[bytes]]]:
    """(pid, argv) of all processes with `mark` in their argv."""
    found = []
    for entry in Path("/proc").iterdir():
        argv = _argv(int(entry.name)) if entry.name.isdigit() else []
        if mark.encode() in argv:
            found.append((int(entry.name), argv))
    return found


def _argv(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _kill(pid: int, mark: str) -> bool:
    """SIGKILL it, if it is still the one that it was."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if mark.encode() not in _argv(pid):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def traces(folder: Path, mark: str, leases: str) -> list[str]:
    """What runs have left on this machine: of a cluster in `folder`, whose leases begin with `leases`."""
    cgroups = Cgroups.discover()
    work, temporary = folder / "work", folder / "tmp"
    found = [f"process {pid} {argv}" for pid, argv in processes(mark)]
    found += [f"cgroup {name}" for name in (cgroups.names() if cgroups else ()) if f".{leases}" in name]
    found += [f"in work: {name}" for name in in_work(folder)]
    found += [f"temporary: {path.name}" for path in temporary.iterdir()]
    for what, where in ("mount", "/proc/self/mountinfo"), ("socket", "/proc/net/unix"):
        lines = Path(where).read_text().splitlines()
        found += [f"{what} {line}" for line in lines if str(work) in line or str(temporary) in line]
    return found
