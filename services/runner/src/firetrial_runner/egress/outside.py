"""Names looked up and connections made: by the runner, to addresses that were checked."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ipaddress import ip_address

from firetrial_kit.addresses import inside, is_ours, never
from firetrial_kit.hosts import Address, literal, plain_name
from firetrial_runner.egress.policy import Policy, RefusedError, Target

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_LOOKUP_S = _CONNECT_S = 10.0
_ADDRESSES = 8
"""Of a name: more are not looked at."""
# What is wrong here, and not with the host.
_OURS = {errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL, errno.EMFILE, errno.ENFILE, errno.ENOBUFS}
_UNKNOWN = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class UnreachableError(Exception):
    """A host that may be reached could not be; `ours` where it is this machine that reaches nothing."""

    def __init__(self, why: str, *, ours: bool) -> None:
        super().__init__(why)
        self.why, self.ours = why, ours


async def dial(address: Address, port: int) -> Ends:
    """Raises OSError."""
    return await asyncio.open_connection(str(address), port, limit=64 * 1024)


class Resolver:
    """The machine's own, in threads of a run's own: names that take long stop nobody else's."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(4, "lookup")

    async def __call__(self, name: str) -> list[Address]:
        """Raises OSError."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _lookup, name)
        return [ip_address(address) for address in dict.fromkeys(found)]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lookup(name: str) -> list[str]:
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(address[0]).partition("%")[0] for *_, address in found]


@dataclass(frozen=True, slots=True)
class Outside:
    """`resolve` and `dial` raise OSError."""

    resolve: Callable[[str], Awaitable[list[Address]]] = field(default_factory=Resolver)
    dial: Callable[[Address, int], Awaitable[Ends]] = dial

    async def reach(self, target: Target, policy: Policy) -> Ends:
        """A connection to what is asked for. The address that is checked is the one that is dialled.

        Raises RefusedError, UnreachableError.
        """
        policy.check(target)
        address = literal(target.host)
        found = [address] if address else await self._lookup(plain_name(target.host), policy)
        failed: list[OSError | TimeoutError] = []
        for checked in _allowed(found, target.port, policy):
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return await self.dial(checked, target.port)
            except OSError as error:  # TimeoutError is one
                failed.append(error)
        why = str(failed[-1]) or "it does not answer"
        raise UnreachableError(why, ours=all(error.errno in _OURS for error in failed))

    async def _lookup(self, name: str, policy: Policy) -> list[Address]:
        # Whoever owns a name can let it fail: only of those that are listed is a failure taken for ours.
        listed = policy.lists(name)
        try:
            async with asyncio.timeout(_LOOKUP_S):
                return (await self.resolve(name))[:_ADDRESSES]
        except TimeoutError as error:
            raise UnreachableError("its name could not be looked up in time", ours=listed) from error
        except OSError as error:
            told = f"its name could not be looked up: {error.strerror}"
            raise UnreachableError(told, ours=listed and error.errno not in _UNKNOWN) from error

    def close(self) -> None:
        if isinstance(self.resolve, Resolver):
            self.resolve.close()


def _allowed(found: list[Address], port: int, policy: Policy) -> list[Address]:
    """Those that may be dialled. Raises RefusedError where none may, or one is denied by a rule."""
    checked, refused = [], RefusedError("its name has no address")
    for address in found:
        try:
            _check(address, port, policy)
        except RefusedError as error:
            if error.denied:
                raise
            refused = error
        else:
            checked.append(address)
    if not checked:
        raise refused
    return checked


def _check(address: Address, port: int, policy: Policy) -> None:
    """Raises RefusedError."""
    if why := never(address) or ("it is this machine itself" if is_ours(address) else ""):
        raise RefusedError(why)
    policy.check_address(address, port, inside(address))
