"""The gRPC server that every service runs: health, reflection, identity, draining."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import structlog
from grpc_health.v1 import _async as health_aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from firetrial.access.v1 import identity_service_pb2_grpc
from firetrial_kit.audit import Audit
from firetrial_kit.auth import Gate
from firetrial_kit.clock import Clock, SystemClock
from firetrial_kit.edge import Edge, status_of
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.identity_rpcs import IdentityServicer
from firetrial_kit.metrics import KitMetrics

__all__ = ["MAX_MESSAGE", "PIECE", "Server", "Tls", "status_of"]

MAX_MESSAGE = 4 * 1024 * 1024
PIECE = 1024 * 1024
_IDENTITY = "firetrial.access.v1.IdentityService"


@dataclass(frozen=True, slots=True)
class Tls:
    """Paths of PEM files. With `client_ca`, clients must show a certificate that it signed."""

    cert: Path
    key: Path
    client_ca: Path | None

    def credentials(self) -> grpc.ServerCredentials:
        ca = self.client_ca.read_bytes() if self.client_ca else None
        return grpc.ssl_server_credentials(
            [(self.key.read_bytes(), self.cert.read_bytes())], ca, require_client_auth=ca is not None
        )


class Server:
    """One gRPC server for any number of servicers."""

    def __init__(
        self,
        address: str,
        *,
        metrics: KitMetrics,
        log: structlog.typing.FilteringBoundLogger,
        tls: Tls | None = None,
        gate: Gate | None = None,
        audit: Audit | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Without a gate everybody may do everything; without an audit nothing is told of it."""
        clock = clock or SystemClock()
        gate = gate or Gate(None, clock)
        self.server = grpc.aio.server(
            interceptors=[Edge(gate, audit, clock, metrics, log)],
            options=[
                ("grpc.max_receive_message_length", MAX_MESSAGE),
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_time_ms", 30_000),
                ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            ],
        )
        self._address = address
        self._tls = tls
        self._health = health_aio.HealthServicer()
        self._names: list[str] = []
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self.server)
        identity = IdentityServicer(gate)
        self.add(_IDENTITY, identity_service_pb2_grpc.add_IdentityServiceServicer_to_server, identity)

    def add(self, name: str, register: Callable[[Any, Any], None], servicer: object) -> None:
        """Serve `servicer` as the fully qualified service `name`, by the generated `register` function."""
        register(servicer, self.server)
        self._names.append(name)

    async def start(self) -> int:
        """Begin to answer; returns the port. Raises UNAVAILABLE where the address is taken."""
        reflection.enable_server_reflection(
            [*self._names, health.SERVICE_NAME, reflection.SERVICE_NAME], self.server
        )
        try:
            port = (
                self.server.add_secure_port(self._address, self._tls.credentials())
                if self._tls
                else self.server.add_insecure_port(self._address)
            )
        except RuntimeError as error:
            raise FiretrialError(
                Reason.UNAVAILABLE, f"cannot listen on {self._address}: is another program there?"
            ) from error
        await self.server.start()
        await self.set_health(serving=True)
        return port

    async def set_health(self, *, serving: bool) -> None:
        """What the health service answers, for each servicer and for the whole."""
        status = (
            health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        )
        for name in ["", *self._names]:
            await self._health.set(name, status)

    async def stop(self, grace: float) -> None:
        """Take no new calls, give those in hand `grace` seconds."""
        await self._health.enter_graceful_shutdown()
        await self.server.stop(grace)
