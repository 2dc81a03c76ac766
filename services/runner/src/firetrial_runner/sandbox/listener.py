"""How a gateway comes to listen inside a sandbox that has no network but its own loopback.

What is started inside makes a listening socket there and hands it out (SCM_RIGHTS, unix(7)): a socket
belongs to the network in which it was made, whoever holds it. So nothing of the gateway runs inside, no
process that could be killed or turned against it, and no bridge, address or route leads out.
"""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PATIENCE_S = 60.0


def handed_over(channel: socket.socket) -> socket.socket | None:
    """The socket that comes through; None where what came is no listening TCP socket, or nothing came."""
    try:
        _, handles, _, _ = socket.recv_fds(channel, 1, 1)
    except OSError:
        return None
    if not handles:
        return None
    for extra in handles[1:]:
        os.close(extra)
    try:
        found = socket.socket(fileno=handles[0])
    except OSError:  # no socket at all
        os.close(handles[0])
        return None
    if _listens(found):
        return found
    found.close()
    return None


def _listens(found: socket.socket) -> bool:
    with suppress(OSError):
        is_tcp = (found.family, found.type) == (socket.AF_INET, socket.SOCK_STREAM)
        return is_tcp and bool(found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    return False


async def wait_for(channel: socket.socket) -> socket.socket | None:
    """Wait until a socket comes through the channel, or its other end is closed."""
    loop = asyncio.get_running_loop()
    channel.setblocking(False)
    ready = asyncio.Event()
    loop.add_reader(channel, ready.set)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await ready.wait()
    except TimeoutError:
        return None
    finally:
        loop.remove_reader(channel)
    return handed_over(channel)


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


async def called(meeting: socket.socket) -> socket.socket | None:
    """The socket that the one caller hands over."""
    meeting.setblocking(False)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            channel, _ = await asyncio.get_running_loop().sock_accept(meeting)
    except TimeoutError:
        return None
    with channel:
        return await wait_for(channel)
