"""Docker: the sandbox for agents that bring their own image.

A container per run, named for it, so that a second one for the same run is refused by the engine. Output is
taken from an attachment made before the start: the log drivers alter bytes that are not UTF-8, and keep a
copy of everything. The Docker client blocks, so each run has two threads of its own; they end with it.
"""

import asyncio
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import docker
import docker.errors
import docker.types
import requests
from docker.utils.socket import STDERR, STDOUT, frames_iter

from firetrial_runner.sandbox.disk import MeasureError, used_bytes
from firetrial_runner.sandbox.identity import hand_over, uid_for
from firetrial_runner.sandbox.output import Output
from firetrial_runner.sandbox.port import (
    HOME,
    WORKSPACE,
    Chunk,
    Exit,
    Leftover,
    Limits,
    SandboxError,
    SandboxSpec,
    Stream,
    Termination,
    Usage,
    ended,
)

T = TypeVar("T")
_NAME = "docker"
_RUN, _LEASE = "firetrial.run", "firetrial.lease"
_SAMPLE_S = 0.5
_DISK_S = 0.5
_KILL_S = 20.0
_ENGINE_S = 60
"""Seconds that the engine may take to answer."""

_ATTACH = {"stdout": 1, "stderr": 1, "stream": 1, "logs": 0}
_STREAMS = {STDOUT: Stream.STDOUT, STDERR: Stream.STDERR}

_REMOVED = "the container was removed from outside"

_FAULTS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError, ValueError)


class DockerSandbox:
    """`image` is used where a run names none; it needs /bin/sh and is never pulled."""

    def __init__(self, client: docker.DockerClient, image: str) -> None:
        self._client = client
        self._image = image

    @classmethod
    def connect(cls, url: str, image: str) -> "DockerSandbox":
        """An engine by its URL, for example unix:///var/run/docker.sock. Raises SandboxError."""
        try:
            _knock(url)
            return cls(docker.DockerClient(base_url=url, timeout=_ENGINE_S, version="auto"), image)
        except _FAULTS as e:
            raise SandboxError(_NAME, f"no engine at {url}: {e}", "Start Docker, or set DOCKER_HOST") from e

    @property
    def name(self) -> str:
        return _NAME

    def enforcement(self) -> Mapping[str, str]:
        return {
            "wall_s": "timer",
            **dict.fromkeys(("cpus", "memory_bytes", "processes"), "Docker's cgroup"),
            **dict.fromkeys(("file_bytes", "open_files"), "rlimit"),
            "output_bytes": "counted",
            "disk_bytes": "watcher, at most twice a second",
            "tmp_bytes": "tmpfs size",
            "seccomp": "Docker's default profile",
        }

    async def probe(self) -> None:
        try:
            await asyncio.to_thread(self._client.ping)
            await asyncio.to_thread(self._client.images.get, self._image)
        except docker.errors.ImageNotFound as e:
            cure = f"Pull or build it: docker pull {self._image}"
            raise SandboxError(_NAME, f"the engine has no image {self._image!r}", cure) from e
        except _FAULTS as e:
            raise SandboxError(_NAME, f"the engine does not answer: {e}", "Start Docker") from e

    async def start(self, spec: SandboxSpec) -> "DockerProcess":
        uid = uid_for(spec.run_key)
        if uid is not None:
            await asyncio.to_thread(hand_over, spec.workspace, uid)
        container: Any = None
        attached: Any = None
        try:
            container = await asyncio.to_thread(self._create, spec, uid)
            attached = await asyncio.to_thread(container.attach_socket, params=_ATTACH)
            await asyncio.to_thread(container.start)
            return DockerProcess(container, attached, spec.limits, spec.workspace)
        except BaseException as e:
            if attached is not None:
                _detach(attached)
            if container is not None:
                await asyncio.shield(asyncio.to_thread(_remove, container))
            if isinstance(e, _FAULTS):
                raise SandboxError(_NAME, f"cannot start {spec.run_key}: {e}", "See the engine's log") from e
            raise

    def _create(self, spec: SandboxSpec, uid: int | None) -> Any:
        limits = spec.limits
        user = f"{uid}:{uid}" if uid is not None else f"{os.getuid()}:{os.getgid()}"
        tmpfs = f"rw,nosuid,nodev,size={limits.tmp_bytes},mode=1777"
        binds = [docker.types.Mount(WORKSPACE, str(spec.workspace), "bind")]
        binds += [docker.types.Mount(to, str(host), "bind", True) for to, host in spec.read_only.items()]
        return self._client.containers.create(
            spec.image or self._image,
            # The shell gives a program that cannot be started the exit codes of the port.
            ["/bin/sh", "-c", 'exec "$@"', "sh", *spec.argv],
            entrypoint=[],
            name=f"firetrial-{spec.run_key}",
            labels={_RUN: spec.run_key, _LEASE: spec.lease},
            environment={"HOME": HOME, "TMPDIR": "/tmp", "LANG": "C.UTF-8", **spec.env},  # noqa: S108 -- inside
            user=user,
            working_dir=WORKSPACE,
            hostname="sandbox",
            init=True,
            mounts=binds,
            read_only=True,
            tmpfs={"/tmp": tmpfs, HOME: tmpfs},  # noqa: S108 -- inside
            shm_size=limits.tmp_bytes,
            network_mode="none",
            ipc_mode="private",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            mem_limit=limits.memory_bytes,
            memswap_limit=limits.memory_bytes,
            pids_limit=limits.processes + 1,  # Docker's own init
            nano_cpus=int(limits.cpus * 1e9),
            ulimits=_ulimits(limits),
            log_config=docker.types.LogConfig(type="none"),
        )

    async def leftovers(self) -> list[Leftover]:
        return [_leftover(container) for container in await asyncio.to_thread(self._ours)]

    async def reap(self, dead: Collection[str]) -> list[Leftover]:
        gone = []
        for container in await asyncio.to_thread(self._ours):
            if container.labels[_LEASE] in dead:
                await asyncio.to_thread(_remove, container)
                gone.append(_leftover(container))
        return gone

    async def aclose(self) -> None:
        await asyncio.to_thread(self._client.close)

    def _ours(self) -> list[Any]:
        found = self._client.containers.list(all=True, filters={"label": _LEASE}, ignore_removed=True)
        return [container for container in found if _RUN in container.labels]


class DockerProcess:
    """A Process (see the port). Runs from its creation on, which needs a running event loop."""

    def __init__(self, container: Any, attached: Any, limits: Limits, workspace: Path) -> None:
        self._container, self._limits, self._workspace = container, limits, workspace
        self._started = time.monotonic()
        self._cause: tuple[Termination, str] | None = None
        self._alive = True
        self._cpu_s: float | None = None
        self._rss: int | None = None
        self._killing: asyncio.Task[None] | None = None
        self._output = Output(limits.output_bytes, self._offset, self._over_output)
        self._pump = _in_thread(self._deliver, attached, asyncio.get_running_loop())
        self._waiter = _in_thread(lambda: container.wait(timeout=None)["StatusCode"])
        self._end = asyncio.create_task(self._supervise())

    def output(self) -> AsyncIterator[Chunk]:
        return self._output.read()

    async def wait(self) -> Exit:
        self._output.drop_unclaimed()
        return await asyncio.shield(self._end)

    async def cancel(self) -> None:
        self._kill(Termination.CANCELLED, "cancelled")

    async def aclose(self) -> None:
        self._kill(Termination.CANCELLED, "closed")
        self._output.drop()
        await asyncio.shield(self._end)

    async def _supervise(self) -> Exit:
        timer = asyncio.get_running_loop().call_later(
            self._limits.wall_s, self._kill, Termination.TIMED_OUT, f"ran for {self._limits.wall_s} s"
        )
        watchers = [asyncio.create_task(self._watch()), asyncio.create_task(self._watch_disk())]
        await asyncio.wait([self._waiter])
        wall_s = self._offset()
        self._alive = False
        timer.cancel()
        for watcher in watchers:
            watcher.cancel()
        state = await asyncio.to_thread(self._state)
        await asyncio.wait([self._pump])
        await self._output.close()
        await asyncio.to_thread(_remove, self._container)
        return self._exit(state, wall_s)

    def _state(self) -> dict[str, Any] | str:
        """What the engine says of the container's end, or why it cannot."""
        try:
            self._container.reload()
        except docker.errors.NotFound:
            return _REMOVED
        except _FAULTS as e:
            return f"the engine does not answer: {e}"
        state = dict(self._container.attrs["State"])
        return _REMOVED if state["Status"] in {"removing", "dead"} else state

    def _exit(self, state: dict[str, Any] | str, wall_s: float) -> Exit:
        oom = isinstance(state, dict) and bool(state["OOMKilled"])
        usage = Usage(wall_s, self._cpu_s, self._rss, self._output.delivered, int(oom))
        if self._cause is not None:
            termination, detail = self._cause
            return Exit(termination, usage, detail=detail)
        if isinstance(state, str):
            return Exit(Termination.LOST, usage, detail=state)
        if fault := self._waiter.exception():
            return Exit(Termination.LOST, usage, detail=f"the engine went away: {fault}")
        code, signum = ended(self._waiter.result())
        if oom and signum == 9:
            detail = f"used more than {self._limits.memory_bytes} bytes of memory"
            return Exit(Termination.OOM_KILLED, usage, code, signum, detail)
        return Exit(Termination.EXITED, usage, code, signum)

    def _deliver(self, attached: Any, loop: asyncio.AbstractEventLoop) -> None:
        try:
            for number, data in frames_iter(attached, tty=False):  # type: ignore[no-untyped-call]
                put = self._output.put(_STREAMS[number], data)
                asyncio.run_coroutine_threadsafe(put, loop).result()
        finally:
            _detach(attached)

    async def _watch(self) -> None:
        pause = 0.02  # a short command is to be seen at least once
        while True:
            try:
                stats = await asyncio.to_thread(self._container.stats, stream=False, one_shot=True)
            except _FAULTS:
                return  # it ended meanwhile; measures are all that is lost
            used = stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
            self._cpu_s = max(self._cpu_s or 0, used) or None
            memory = stats["memory_stats"].get("stats", {})
            rss = memory.get("total_rss", memory.get("anon", 0))  # cgroup version 1, version 2
            self._rss = max(self._rss or 0, rss) or None
            await asyncio.sleep(pause)
            pause = min(2 * pause, _SAMPLE_S)

    async def _watch_disk(self) -> None:
        limit = self._limits.disk_bytes
        while True:
            begun = self._offset()
            try:
                if await asyncio.to_thread(used_bytes, self._workspace, limit) > limit:
                    self._kill(Termination.DISK_LIMIT, f"more than {limit} bytes in the workspace")
            except MeasureError as e:
                self._kill(Termination.DISK_LIMIT, f"the workspace's size cannot be told: {e}")
            await asyncio.sleep(max(_DISK_S, 10 * (self._offset() - begun)))

    def _over_output(self) -> None:
        self._cause = self._cause or (
            Termination.OUTPUT_LIMIT,
            f"more than {self._limits.output_bytes} bytes of output",
        )
        self._begin_killing()

    def _kill(self, termination: Termination, detail: str) -> None:
        if self._alive:
            self._cause = self._cause or (termination, detail)
            self._begin_killing()

    def _begin_killing(self) -> None:
        if self._killing is None:
            self._killing = asyncio.create_task(self._kill_until_dead())

    async def _kill_until_dead(self) -> None:
        """An engine under load may lose a kill; one that hangs must not hang the run."""
        deadline = self._offset() + _KILL_S
        while not self._waiter.done() and self._offset() < deadline:
            await asyncio.wait([_in_thread(self._container.kill)], timeout=2)
            await asyncio.wait([self._waiter], timeout=1)
        if not self._waiter.done():
            self._waiter.set_exception(SandboxError(_NAME, "the engine does not kill", "Restart Docker"))
            self._output.drop()
            self._pump.cancel()

    def _offset(self) -> float:
        return time.monotonic() - self._started


def _knock(url: str) -> None:
    """Raise OSError where nobody answers at a Unix socket: the client would leave its own half open."""
    scheme, _, path = url.partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.connect(path)


def _ulimits(limits: Limits) -> list[docker.types.Ulimit]:
    wanted = {"nofile": limits.open_files, "fsize": limits.file_bytes, "core": 0}
    return [docker.types.Ulimit(name=name, soft=value, hard=value) for name, value in wanted.items()]


def _leftover(container: Any) -> Leftover:
    return Leftover(container.labels[_RUN], container.labels[_LEASE], f"container {container.name}")


def _detach(attached: Any) -> None:
    """Close an attachment by the HTTP answer whose socket it is: closed itself, it leaves a half open."""
    attached._response.close()  # noqa: SLF001 -- where the client keeps it


def _remove(container: Any) -> None:
    try:
        container.remove(force=True, v=True)
    except docker.errors.NotFound:
        pass
    except _FAULTS:
        return  # the reaper comes back for it


def _in_thread(call: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
    """Like asyncio.to_thread, in a thread that cannot hold up the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, fault: Exception | None) -> None:
        if not future.done():
            future.set_result(result) if fault is None else future.set_exception(fault)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        fault: Exception | None = RuntimeError("a thread of the Docker sandbox broke, see its traceback")
        try:
            result, fault = call(*args), None
        except _FAULTS as e:
            fault = e
        finally:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=run, daemon=True).start()
    return future
