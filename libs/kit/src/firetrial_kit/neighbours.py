"""Another service, asked over its contract."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc

from firetrial_kit import auth, tenants, trace
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.settings import SettingsError, is_loopback

_LATER = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL"}


class _Introduced(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]
    """Says with each call who asks, and for which tenant."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def intercept_unary_unary(
        self, continuation: Callable[..., Any], client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        call = client_call_details
        told = grpc.aio.Metadata(*(call.metadata or ()))
        if self._token:
            told.add("authorization", f"Bearer {self._token}")
        if tenant := tenants.current():
            told.add(auth.ON_BEHALF, tenant)
        details = grpc.aio.ClientCallDetails(
            call.method, call.timeout, told, call.credentials, call.wait_for_ready
        )
        return await continuation(details, request)


async def channel_to(
    address: str,
    stack: AsyncExitStack,
    *,
    ca: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    token: str = "",
) -> grpc.aio.Channel:
    """The service at `host:port`; `stack` closes the connection.

    PEM files: the authority that signed the other's certificate, and this service's own certificate and key.
    TLS is spoken where the authority is given. `token` is what this service is known by, where not by its
    certificate. Raises OSError for a file that cannot be read, SettingsError for a token sent in the clear.
    """
    if token and not ca and not is_loopback(address):
        raise SettingsError([f"FIRETRIAL_SERVICE_TOKEN: {address} is asked in the clear; name its authority"])
    known: Any = [_Introduced(token)]
    if ca:
        channel = grpc.aio.secure_channel(address, _credentials(ca, cert, key), interceptors=known)
    else:
        channel = grpc.aio.insecure_channel(address, interceptors=known)
    return await stack.enter_async_context(channel)


def _credentials(ca: Path, cert: Path | None, key: Path | None) -> grpc.ChannelCredentials:
    own = (key.read_bytes(), cert.read_bytes()) if cert and key else (None, None)
    return grpc.ssl_channel_credentials(ca.read_bytes(), *own)


def traced() -> grpc.aio.Metadata:
    """What a call says of the trace that it belongs to."""
    return grpc.aio.Metadata(("traceparent", trace.current()))


def refused(error: grpc.aio.AioRpcError, told: str) -> FiretrialError:
    """The error of a call that failed: UNAVAILABLE where asking later may help, else PRECONDITION.

    `told` says what was not done.
    """
    later = error.code().name in _LATER
    reason = Reason.UNAVAILABLE if later else Reason.PRECONDITION
    return FiretrialError(reason, f"{told}: {error.details()}")
