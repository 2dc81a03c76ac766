"""Another service, asked over its contract."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import grpc

from firetrial_kit import trace
from firetrial_kit.errors import FiretrialError, Reason

_LATER = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL"}


async def channel_to(
    address: str,
    stack: AsyncExitStack,
    *,
    ca: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
) -> grpc.aio.Channel:
    """The service at `host:port`; `stack` closes the connection.

    PEM files: the authority that signed the other's certificate, and this service's own certificate and key.
    TLS is spoken where all three are given. Raises OSError for one that cannot be read.
    """
    if ca and cert and key:
        channel = grpc.aio.secure_channel(address, _credentials(ca, cert, key))
    else:
        channel = grpc.aio.insecure_channel(address)
    return await stack.enter_async_context(channel)


def _credentials(ca: Path, cert: Path, key: Path) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(ca.read_bytes(), key.read_bytes(), cert.read_bytes())


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
