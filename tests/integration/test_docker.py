"""What only Docker has: images with wishes of their own, and an engine that can go away."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from firetrial_runner.sandbox.docker import DockerSandbox
from firetrial_runner.sandbox.port import Limits, Termination
from support.sandboxes import MIB, Rig, make_rig, read_all

pytestmark = pytest.mark.needs("docker")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = make_rig("docker")
    yield rig
    assert await rig.left() == []
    await rig.sandbox.aclose()


@pytest.fixture
def client() -> Iterator[Any]:
    with contextlib.closing(docker.DockerClient(base_url=os.environ["DOCKER_HOST"])) as client:
        yield client


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def wishful(client: Any) -> Iterator[str]:
    """An image that wants a volume and a program that looks after it."""
    made = client.containers.create(os.environ["FIRETRIAL_TEST_IMAGE"], ["true"])
    wishes = ["VOLUME /data", "HEALTHCHECK --interval=1s CMD touch /workspace/checked"]
    image = made.commit("firetrial-test-wishful", changes=wishes)
    made.remove()
    yield "firetrial-test-wishful"
    client.images.remove(image.id, force=True)


def left_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


FILLS = """
import errno, time
try:
    with open('/data/big', 'wb') as f:
        for _ in range(64): f.write(bytes(1 << 20)); f.flush()
    print('all')
except OSError as e:
    print(errno.errorcode[e.errno])
time.sleep(2.5)
"""


async def test_what_an_image_wants_is_no_way_round_the_limits(
    rig: Rig, client: Any, workspace: Path, wishful: str
) -> None:
    """A volume would lie on the engine's disk, in no limit; a health check would run beside the command."""
    before = {volume.name for volume in client.volumes.list()}
    spec = rig.spec(FILLS, workspace, limits=Limits(wall_s=30, tmp_bytes=8 * MIB), image=wishful)
    process = await rig.sandbox.start(spec)
    during = {volume.name for volume in client.volumes.list()}
    stdout, _ = await read_all(process)
    assert (await process.wait()).code == 0
    assert stdout == b"ENOSPC\n"
    assert during == before
    assert left_in(workspace) == []


async def test_an_image_that_is_not_there(rig: Rig, workspace: Path) -> None:
    with pytest.raises(Exception, match="firetrial-test-absent"):
        await rig.sandbox.start(rig.spec("greet", workspace, image="firetrial-test-absent"))


class Line:
    """A line to the engine that can be cut."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def mend(self) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen()
        self._ends.append(listener)
        self._start(self._accept, listener)

    def cut(self) -> None:
        self.path.unlink()
        listener, accepting = self._ends[0], self._threads.pop(0)
        _shut(listener)
        accepting.join()
        for end in self._ends:
            _shut(end)
        while self._threads:
            self._threads.pop().join()
        while self._ends:
            self._ends.pop().close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                self._ends += [near, far]
                far.connect(os.environ["DOCKER_HOST"].removeprefix("unix://"))
                self._start(_copy, near, far)
                self._start(_copy, far, near)

    def _start(self, what: Callable[..., None], *args: socket.socket) -> None:
        thread = threading.Thread(target=what, args=args)
        thread.start()
        self._threads.append(thread)


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _copy(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


async def lose_and_find(rig: Rig, client: Any, workspace: Path) -> None:
    line = Line(Path("/tmp") / f"firetrial-{rig.mark}.sock")
    line.mend()
    far = DockerSandbox.connect(f"unix://{line.path}", os.environ["FIRETRIAL_TEST_IMAGE"])
    spec = rig.spec("sleep", workspace)
    process = await far.start(spec)
    await asyncio.to_thread(line.cut)
    async with asyncio.timeout(40):
        end = await process.wait()
    assert end.termination is Termination.LOST
    left = await asyncio.to_thread(client.containers.get, f"firetrial-{spec.run_key}")
    assert left.status == "running"
    line.mend()
    assert [gone.run_key for gone in await far.reap(set())] == [spec.run_key]
    assert await rig.left() == []
    assert await far.reap(set()) == []
    await far.aclose()
    await asyncio.to_thread(line.cut)


# The Docker client leaves a socket half open where nobody answers, for the collector to close.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_run_whose_engine_goes_away_is_lost_and_what_is_left_of_it_removed_later(
    rig: Rig, client: Any, workspace: Path
) -> None:
    await lose_and_find(rig, client, workspace)
    await asyncio.sleep(0)
    gc.collect()


def test_nobody_at_the_socket_is_told_at_once(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        with pytest.raises(Exception, match="Start Docker"):
            DockerSandbox.connect(f"unix://{tmp_path}/s", "any")
