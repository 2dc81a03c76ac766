"""Connections that lead only where they may: each goes to an address that was looked at, not to a name.

What a name stands for is asked once for each connection, and the answer is what is connected to: a name that
changes its address in between (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

import httpcore

from firetrial_kit.addresses import METADATA, inside, never
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.hosts import Address

Network = IPv4Network | IPv6Network


def refusal(address: Address, allow: Sequence[Network]) -> str:
    """Why nothing is sent to an address; ""."""
    if address in METADATA:
        return never(address)
    if any(address.version == network.version and address in network for network in allow):
        return ""
    return never(address) or inside(address)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to addresses that are public, or in one of the networks of `allow`.

    Names are resolved in threads of its own: a name server that hangs holds up nobody else.
    """

    def __init__(
        self, allow: Sequence[Network], at_once: int, inner: httpcore.AsyncNetworkBackend | None = None
    ) -> None:
        self._allow = allow
        self._inner = inner or httpcore.AnyIOBackend()
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="resolve")

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raises DENIED where all that the name stands for is refused, ConnectError where it is not known."""
        addresses = await self._resolve(host, port)
        refused = {address: why for address in addresses if (why := refusal(address, self._allow))}
        free = [address for address in addresses if address not in refused]
        if not free:
            told = "; ".join(f"{address}: {why}" for address, why in refused.items())
            raise FiretrialError(Reason.DENIED, f"{host} leads where nothing is sent ({told})")
        return await self._inner.connect_tcp(str(free[0]), port, timeout, local_address, socket_options)

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        raise httpcore.UnsupportedProtocol("no sockets of this machine")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _resolve(self, host: str, port: int) -> list[Address]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._threads, _look_up, host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} is not known: {error}") from error
        return list(dict.fromkeys(found))


def _look_up(host: str, port: int) -> list[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(str(place[0]).partition("%")[0]) for *_, place in found]
