"""Docker: the sandbox for agents that bring their own image.

A container per run, named for it, so that a second one for the same run is refused by the engine. Output is
taken from an attachment made before the start: the log drivers alter bytes that are not UTF-8, and keep a
copy of everything.
"""

import asyncio
import os
import socket
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types

from firetrial_runner.sandbox import docker_engine, listener, seccomp, starting
from firetrial_runner.sandbox.docker_process import FAULTS, NAME, DockerProcess, detach, remove
from firetrial_runner.sandbox.identity import hand_over, uid_for
from firetrial_runner.sandbox.port import (
    HOME,
    WORKSPACE,
    Leftover,
    Limits,
    SandboxError,
    SandboxSpec,
)

_RUN, _LEASE = "firetrial.run", "firetrial.lease"
_SECCOMP_SINCE = 25
"""The engine's version whose default profile refuses io_uring and AF_VSOCK."""
_ENGINE_S = 60
"""Seconds that the engine may take to answer."""
_MEETING = "/run/firetrial/gateway.sock"
_ATTACH = {"stdout": 1, "stderr": 1, "stream": 1, "logs": 0}

_ENVIRONMENT = {"HOME": HOME, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 -- inside


class DockerSandbox:
    """`image` is used where a run names none, and is never pulled.

    An image needs /bin/sh, and python3 where its runs have a way out.
    """

    def __init__(self, client: docker.DockerClient, image: str) -> None:
        self._client = client
        self._image = image
        self._stuck: set[str] = set()

    @classmethod
    def connect(cls, url: str, image: str) -> "DockerSandbox":
        """An engine by its URL, for example unix:///var/run/docker.sock. Raises SandboxError."""
        try:
            _knock(url)
            return cls(docker.DockerClient(base_url=url, timeout=_ENGINE_S, version="auto"), image)
        except FAULTS as e:
            raise SandboxError(NAME, f"no engine at {url}: {e}", "Start Docker, or set DOCKER_HOST") from e

    @property
    def name(self) -> str:
        return NAME

    def enforcement(self) -> Mapping[str, str]:
        return {
            "wall_s": "timer",
            **dict.fromkeys(("cpus", "memory_bytes", "processes"), "Docker's cgroup"),
            **dict.fromkeys(("file_bytes", "open_files"), "rlimit"),
            "output_bytes": "counted",
            "disk_bytes": "watcher, twice a second and where much is written",
            "tmp_bytes": "tmpfs size",
            "seccomp": f"Docker's default profile of version {_SECCOMP_SINCE} on, else a deny-list",
        }

    async def probe(self) -> None:
        try:
            info = await asyncio.to_thread(self._client.info)
            await asyncio.to_thread(self._client.images.get, self._image)
        except docker.errors.ImageNotFound as e:
            cure = f"Pull or build it: docker pull {self._image}"
            raise SandboxError(NAME, f"the engine has no image {self._image!r}", cure) from e
        except FAULTS as e:
            raise SandboxError(NAME, f"the engine does not answer: {e}", "Start Docker") from e
        if short := list(docker_engine.shortcomings(info)):
            raise SandboxError(
                NAME, f"the engine would not hold runs: {'; '.join(short)}", "Cure each of these"
            )

    async def start(self, spec: SandboxSpec) -> DockerProcess:
        starting = asyncio.create_task(self._start(spec))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The engine goes on with what it was asked for: see it through, and undo it.
            with suppress(SandboxError):
                await (await starting).aclose()
            raise

    async def _start(self, spec: SandboxSpec) -> DockerProcess:
        uid = uid_for(spec.run_key)
        if uid is not None:
            await asyncio.to_thread(hand_over, spec.workspace, uid)
        container: Any = None
        attached: Any = None
        with ExitStack() as stack:
            meeting = stack.enter_context(listener.meeting_point(_meeting(spec))) if spec.ways else None
            try:
                container = await asyncio.to_thread(self._create, spec, uid)
                attached = await asyncio.to_thread(container.attach_socket, params=_ATTACH)
                await asyncio.to_thread(container.start)
            except FAULTS as e:
                if attached is not None:
                    detach(attached)
                if container is not None and not await asyncio.to_thread(remove, container):
                    self._cannot_remove(container)
                raise SandboxError(NAME, f"cannot start {spec.run_key}: {e}", "See the engine's log") from e
            process = DockerProcess(container, attached, spec.limits, spec.workspace, self._cannot_remove)
            if meeting is not None:
                await self._join(spec, meeting, process)
        return process

    async def _join(self, spec: SandboxSpec, meeting: socket.socket, process: DockerProcess) -> None:
        """Let those who are the ways out answer inside. Raises SandboxError where the image cannot."""
        try:
            found = await listener.called_by(meeting, len(spec.ways), process.ended())
        except asyncio.CancelledError:
            await process.aclose()
            raise
        if not found:
            await process.aclose()
            why = f"no gateway came up in {spec.image or self._image!r}"
            raise SandboxError(NAME, why, "The image needs python3 for it")
        for way, listening in zip(spec.ways.values(), found, strict=True):
            way.serve(listening)

    def _create(self, spec: SandboxSpec, uid: int | None) -> Any:
        limits = spec.limits
        user = f"{uid}:{uid}" if uid is not None else f"{os.getuid()}:{os.getgid()}"
        tmpfs = f"rw,nosuid,nodev,size={limits.tmp_bytes},mode=1777"
        binds = [docker.types.Mount(WORKSPACE, str(spec.workspace), "bind")]
        binds += [docker.types.Mount(to, str(host), "bind", True) for to, host in spec.read_only.items()]
        if spec.ways:
            binds.append(docker.types.Mount(starting.LAUNCHER, str(starting.script()), "bind", True))
            binds.append(docker.types.Mount(_MEETING, str(_meeting(spec)), "bind"))
        image = self._client.images.get(spec.image or self._image)
        return self._client.containers.create(
            image,
            # The shell gives a program that cannot be started the exit codes of the port.
            ["/bin/sh", "-c", 'exec "$@"', "sh", *_launch(spec), *spec.argv],
            entrypoint=[],
            name=f"firetrial-{spec.run_key}",
            labels={_RUN: spec.run_key, _LEASE: spec.lease},
            environment={**_ENVIRONMENT, **spec.environment(), **_without_gpus(spec)},
            device_requests=_gpus(spec),
            user=user,
            working_dir=WORKSPACE,
            hostname="sandbox",
            init=True,
            healthcheck={"test": ["NONE"]},  # an image's own would run beside the command
            mounts=binds,
            read_only=True,
            tmpfs=dict.fromkeys(("/tmp", HOME, *_volumes(image)), tmpfs),  # noqa: S108 -- inside
            shm_size=limits.tmp_bytes,
            network_mode="none",
            ipc_mode="private",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true", *self._seccomp()],
            mem_limit=limits.memory_bytes,
            memswap_limit=limits.memory_bytes,
            pids_limit=limits.processes + 1,  # Docker's own init
            nano_cpus=int(limits.cpus * 1e9),
            ulimits=_ulimits(limits),
            log_config=docker.types.LogConfig(type="none"),
        )

    def _seccomp(self) -> list[str]:
        """Ours, where the engine's own profile is not in force, or too old."""
        own = docker_engine.brings_a_filter(self._client.info(), _SECCOMP_SINCE)
        return [] if own else [f"seccomp={seccomp.docker_profile()}"]

    async def leftovers(self) -> list[Leftover]:
        return [_leftover(container) for container in await asyncio.to_thread(self._ours)]

    async def reap(self, dead: Collection[str]) -> list[Leftover]:
        ours, gone = await asyncio.to_thread(self._ours), []
        stuck, self._stuck = self._stuck, set()
        for container in ours:
            if container.id not in stuck and container.labels[_LEASE] not in dead:
                continue
            if await asyncio.to_thread(remove, container):
                gone.append(_leftover(container))
            else:
                self._stuck.add(container.id)
        return gone

    def _cannot_remove(self, container: Any) -> None:
        self._stuck.add(container.id)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._client.close)

    def _ours(self) -> list[Any]:
        found = self._client.containers.list(all=True, filters={"label": _LEASE}, ignore_removed=True)
        return [container for container in found if _RUN in container.labels]


def _knock(url: str) -> None:
    """Raise OSError where nobody answers at a Unix socket: the client would leave its own half open."""
    scheme, _, path = url.partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.connect(path)


def _meeting(spec: SandboxSpec) -> Path:
    """Where the gateway meets what is started inside: beside the workspace, in the run's own folder."""
    return spec.workspace.with_name(f"{spec.workspace.name}.gateway")


def _launch(spec: SandboxSpec) -> list[str]:
    """What is started first where there are ways out: it makes them, then becomes the command."""
    if not spec.ways:
        return []
    ways = {"ports": list(spec.ways), "channel": _MEETING}
    settings = starting.settings(spec.limits, held=True, ways=ways)
    return ["python3", "-I", "-S", starting.LAUNCHER, settings]


def _volumes(image: Any) -> list[str]:
    """Where an image wants volumes: the engine would make them on its disk, without any limit."""
    return list((image.attrs["Config"] or {}).get("Volumes") or ())


def _gpus(spec: SandboxSpec) -> list[docker.types.DeviceRequest]:
    if not spec.gpus:
        return []
    return [docker.types.DeviceRequest(device_ids=[gpu.uuid for gpu in spec.gpus], capabilities=[["gpu"]])]


def _without_gpus(spec: SandboxSpec) -> dict[str, str]:
    """Images for CUDA ask for all GPUs by this variable, where NVIDIA's runtime is the engine's default."""
    return {} if spec.gpus else {"NVIDIA_VISIBLE_DEVICES": "void"}


def _ulimits(limits: Limits) -> list[docker.types.Ulimit]:
    wanted = {"nofile": limits.open_files, "fsize": limits.file_bytes, "core": 0}
    return [docker.types.Ulimit(name=name, soft=value, hard=value) for name, value in wanted.items()]


def _leftover(container: Any) -> Leftover:
    return Leftover(container.labels[_RUN], container.labels[_LEASE], f"container {container.name}")
