"""What is handed out of a sandbox is taken only if it is what was asked for."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firetrial_runner.sandbox import listener


@pytest.fixture
def channel() -> Iterator[tuple[socket.socket, socket.socket]]:
    """(the runner's end, the sandbox's end)."""
    pair = socket.socketpair()
    yield pair
    for end in pair:
        end.close()


def _pipe() -> int:
    read, write = os.pipe()
    os.close(write)
    return read


def _socket(family: int, kind: int, *, listens: bool = False) -> int:
    made = socket.socket(family, kind)
    if listens:
        made.bind(("127.0.0.1", 0) if family == socket.AF_INET else ("::1", 0))
        made.listen()
    return made.detach()


def _open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


HOSTILE: dict[str, Callable[[], int]] = {
    "a pipe": _pipe,
    "a file": lambda: os.open("/dev/null", os.O_RDONLY),
    "a socket that does not listen": lambda: _socket(socket.AF_INET, socket.SOCK_STREAM),
    "a datagram socket": lambda: _socket(socket.AF_INET, socket.SOCK_DGRAM),
    "a unix socket": lambda: _socket(socket.AF_UNIX, socket.SOCK_STREAM),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_nothing_but_a_listening_socket_is_taken(
    channel: tuple[socket.socket, socket.socket], what: str
) -> None:
    ours, theirs = channel
    handle = HOSTILE[what]()
    before = _open()
    socket.send_fds(theirs, [b"x"], [handle])
    assert await listener.wait_for(ours, 1) == []
    assert _open() == before, "a handle was left open"
    os.close(handle)


async def test_a_channel_that_is_closed_or_says_nothing_of_use(
    channel: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = channel
    theirs.send(b"x")
    assert await listener.wait_for(ours, 1) == []
    theirs.close()
    assert await listener.wait_for(ours, 1) == []


async def test_a_listening_socket_comes_through_a_meeting_point_of_any_length(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 40)
    folder.mkdir()
    with listener.meeting_point(folder / "gateway") as meeting:
        here = os.open(folder, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as caller, socket.create_server(("127.0.0.1", 0)) as listening:
            caller.connect(f"/proc/self/fd/{here}/gateway")
            socket.send_fds(caller, [b"x"], [listening.fileno()])
            (found,) = await listener.called(meeting, 1)
            assert found.getsockname() == listening.getsockname()
            found.close()
        os.close(here)
    assert list(folder.iterdir()) == []


async def test_a_call_is_heard_of_who_has_ended_since(tmp_path: Path) -> None:
    with listener.meeting_point(tmp_path / "gateway") as meeting:
        with socket.socket(socket.AF_UNIX) as caller, socket.create_server(("127.0.0.1", 0)) as listening:
            caller.connect(str(tmp_path / "gateway"))
            socket.send_fds(caller, [b"x"], [listening.fileno()])
        (found,) = await listener.called_by(meeting, 1, asyncio.sleep(0))
        found.close()
        assert await listener.called_by(meeting, 1, asyncio.sleep(0)) == []
