"""Connections to the services, and how a call behaves on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import grpc

from firetrial_client.endpoints import TOKEN, Tls, is_loopback
from firetrial_client.errors import Fault, FiretrialError, Reason, invalid

# Every submit is idempotent on the server, so UNAVAILABLE, and nothing else, may be tried again by itself.
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}
_OPTIONS = [
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    ("grpc.enable_retries", 1),
    # A peer that vanished without a word is noticed in 40 s; the servers allow a ping every 10 s.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # A restarted service is found again within a second or two, not after gRPC's two minutes.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
]


class Channels:
    """One channel for each address, opened when first used.

    `find` gives the address of each service; it is asked again by `refresh`, because a Firetrial that was
    started anew answers on other ports.
    """

    def __init__(self, find: Callable[[], Mapping[str, str]], tls: Tls | None, token: str = "") -> None:
        self._find = find
        self._tls = tls
        self._token = token
        self._addresses: dict[str, str] = {}
        self._open: dict[str, grpc.aio.Channel] = {}
        self._closed = False

    def address(self, service: str) -> str:
        """`host:port` of the service. Raises what `find` raises, PRECONDITION once closed.

        And INVALID for one that a token would travel to in the clear.
        """
        if self._closed:
            raise FiretrialError(Reason.PRECONDITION, "the client was closed")
        if not self._addresses:
            self._addresses = dict(self._find())
        address = self._addresses[service]
        if self._token and self._tls is None and not is_loopback(address):
            cure = (
                f"would be sent to {address} in the clear: set FIRETRIAL_TLS_CA to who signed its certificate"
            )
            raise invalid("the token", [Fault(TOKEN, cure)])
        return address

    @property
    def introduction(self) -> tuple[tuple[str, str], ...]:
        """What each call says of who makes it."""
        return (("authorization", f"Bearer {self._token}"),) if self._token else ()

    def of(self, service: str) -> grpc.aio.Channel:
        address = self.address(service)
        if address not in self._open:
            self._open[address] = self._connect(address)
        return self._open[address]

    def blocking(self, service: str) -> grpc.Channel:
        """A channel of its own, for an upload; to be closed by the caller.

        grpc.aio loses the status of a call that the server ends while it is being written to ("Internal
        error from Core"), so uploads go through the other half of gRPC.
        """
        address, credentials = self.address(service), self._credentials()
        if credentials is None:
            return grpc.insecure_channel(address, options=_OPTIONS)
        return grpc.secure_channel(address, credentials, options=_OPTIONS)

    async def refresh(self) -> bool:
        """Look for the services again; whether any of them is elsewhere now."""
        before = self._addresses
        try:
            self._addresses = dict(self._find())
        except FiretrialError:  # nothing runs at the moment; what is known may yet come back
            return False
        for address in [address for address in self._open if address not in self._addresses.values()]:
            await self._open.pop(address).close(None)
        return self._addresses != before

    async def close(self) -> None:
        self._closed = True
        while self._open:
            await self._open.popitem()[1].close(None)

    def _connect(self, address: str) -> grpc.aio.Channel:
        credentials = self._credentials()
        if credentials is None:
            return grpc.aio.insecure_channel(address, options=_OPTIONS)
        return grpc.aio.secure_channel(address, credentials, options=_OPTIONS)

    def _credentials(self) -> grpc.ChannelCredentials | None:
        if self._tls is None:
            return None
        ca, cert, key = (
            path.read_bytes() if path else None for path in (self._tls.ca, self._tls.cert, self._tls.key)
        )
        return grpc.ssl_channel_credentials(ca, key, cert)
