"""How a gateway comes to listen inside a sandbox that has no network but its own loopback.

What is started inside makes listening sockets there and hands them out (SCM_RIGHTS, unix(7)): a socket
belongs to the network in which it was made, whoever holds it. So nothing of a gateway runs inside, no
process that could be killed or turned against it, and no bridge, address or route leads out.
"""

import asyncio
import os
import socket
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_PATIENCE_S = 60.0
_LAST_S = 1.0
"""Seconds in which a call is heard whose caller has ended: it is in the queue, or there was none."""


def handed_over(channel: socket.socket, count: int) -> list[socket.socket]:
    """The sockets that come through; none where what came is not `count` listening TCP sockets."""
    try:
        _, handles, _, _ = socket.recv_fds(channel, 1, count)
    except OSError:
        return []
    found = [opened for handle in handles if (opened := _opened(handle)) is not None]
    if len(found) == len(handles) == count and all(map(_listens, found)):
        return found
    for opened in found:
        opened.close()
    return []


def _opened(handle: int) -> socket.socket | None:
    try:
        return socket.socket(fileno=handle)
    except OSError:  # no socket at all
        os.close(handle)
        return None


def _listens(found: socket.socket) -> bool:
    with suppress(OSError):
        is_tcp = (found.family, found.type) == (socket.AF_INET, socket.SOCK_STREAM)
        return is_tcp and bool(found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    return False


async def wait_for(channel: socket.socket, count: int) -> list[socket.socket]:
    """Wait until `count` sockets come through the channel, or its other end is closed."""
    loop = asyncio.get_running_loop()
    channel.setblocking(False)
    ready = asyncio.Event()
    loop.add_reader(channel, ready.set)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await ready.wait()
    except TimeoutError:
        return []
    finally:
        loop.remove_reader(channel)
    return handed_over(channel, count)


@contextmanager
def meeting_point(path: Path) -> Iterator[socket.socket]:
    """A unix socket at `path`, however long that is, for one caller from inside; gone when left."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX) as meeting:
        try:
            meeting.bind(f"/proc/self/fd/{folder}/{path.name}")
            path.chmod(0o666)  # the user inside is another
            meeting.listen(1)
            yield meeting
        finally:
            os.close(folder)
            path.unlink(missing_ok=True)


async def called(meeting: socket.socket, count: int) -> list[socket.socket]:
    """The sockets that the one caller hands over."""
    meeting.setblocking(False)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            channel, _ = await asyncio.get_running_loop().sock_accept(meeting)
    except TimeoutError:
        return []
    with channel:
        return await wait_for(channel, count)


async def called_by(
    meeting: socket.socket, count: int, ending: Coroutine[Any, Any, Any]
) -> list[socket.socket]:
    """The same; none where who should call has come to its end, which is when `ending` returns, without."""
    calling, over = asyncio.ensure_future(called(meeting, count)), asyncio.ensure_future(ending)
    try:
        await asyncio.wait([calling, over], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([calling], timeout=_LAST_S)
        return calling.result() if calling.done() else []
    finally:
        calling.cancel()
        over.cancel()
        await asyncio.gather(calling, over, return_exceptions=True)
