"""The gRPC server that every service runs: health, reflection, identity, draining."""

from __future__ import annotations

import ssl
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
# A connection is let in by the certificate that it began with: so it begins anew before long, and what is
# under way on it is seen through.
_AGE_MS = 3_600_000
_IDLE_MS = 600_000
# One who connects and says nothing holds a file of the process for so long; gRPC's own is two minutes.
_HANDSHAKE_MS = 10_000
_IDENTITY = "firetrial.access.v1.IdentityService"


@dataclass(frozen=True, slots=True)
class Tls:
    """Paths of PEM files. With `client_ca`, clients must show a certificate that it signed."""

    cert: Path
    key: Path
    client_ca: Path | None

    def credentials(self, log: structlog.typing.FilteringBoundLogger) -> grpc.ServerCredentials:
        """Those that the files hold whenever a client connects. Raises OSError where they cannot be read."""
        shown = _Shown(self, log)
        return grpc.dynamic_ssl_server_credentials(
            self.read(),
            shown.changed,  # type: ignore[arg-type]  # None, for no change, is missing in the stubs
            require_client_authentication=self.client_ca is not None,
        )

    def read(self) -> grpc.ServerCertificateConfiguration:
        ca = self.client_ca.read_bytes() if self.client_ca else None
        return grpc.ssl_server_certificate_configuration(
            [(self.key.read_bytes(), self.cert.read_bytes())], ca
        )

    def look(self) -> tuple[tuple[int, int, int], ...] | None:
        """What changes with the files; None where one is not there."""
        try:
            there = [path.stat() for path in (self.cert, self.key, self.client_ca) if path]
        except OSError:
            return None
        return tuple((told.st_mtime_ns, told.st_size, told.st_ino) for told in there)


class _Shown:
    """The certificate that is shown to clients: read again when it changed, kept while the new one is bad."""

    def __init__(self, tls: Tls, log: structlog.typing.FilteringBoundLogger) -> None:
        self._tls, self._log = tls, log
        self._seen = tls.look()

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """What is to be shown from now on; None where that is what was shown before."""
        seen = self._tls.look()
        if seen == self._seen:
            return None
        self._seen = seen
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._tls.cert, self._tls.key)
            told = self._tls.read()
        except (OSError, ssl.SSLError) as error:
            self._log.error("certificate is broken", error=str(error), effect="the one before is still shown")
            return None
        self._log.info("certificate read", path=str(self._tls.cert))
        return told


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
                ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
                ("grpc.max_connection_idle_ms", _IDLE_MS),
                ("grpc.max_connection_age_ms", _AGE_MS),
            ],
        )
        self._address = address
        self._tls = tls
        self._log = log
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
                self.server.add_secure_port(self._address, self._tls.credentials(self._log))
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
