"""The gRPC server that every service runs: health, reflection, deadlines, errors, metrics, draining."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import structlog
from google.protobuf import any_pb2, duration_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_health.v1 import _async as health_aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from grpc_status import rpc_status

from firetrial_kit import trace
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.metrics import KitMetrics

ERROR_DOMAIN = "firetrial"
# The longest that a call with one answer may take where the caller set no deadline.
DEFAULT_DEADLINE = 120.0
MAX_MESSAGE = 4 * 1024 * 1024
PIECE = 1024 * 1024


def status_of(error: FiretrialError) -> status_pb2.Status:
    """The error as google.rpc.Status: reason, bad fields and retry hint as the standard details."""
    details: list[Any] = [error_details_pb2.ErrorInfo(reason=error.reason.value, domain=ERROR_DOMAIN)]
    if error.faults:
        violations = [
            error_details_pb2.BadRequest.FieldViolation(field=fault.field, description=str(fault))
            for fault in error.faults
        ]
        details.append(error_details_pb2.BadRequest(field_violations=violations))
    if error.retry_after is not None:
        delay = duration_pb2.Duration()
        delay.FromNanoseconds(int(error.retry_after * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    packed = []
    for detail in details:
        packed.append(any_pb2.Any())
        packed[-1].Pack(detail)
    return status_pb2.Status(code=code_pb2.Code.Value(error.code), message=error.message, details=packed)


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
    ) -> None:
        self.server = grpc.aio.server(
            interceptors=[_Edge(metrics, log)],
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


class _Edge(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Around every call: trace, deadline, metrics, and the only translation of errors into statuses."""

    def __init__(self, metrics: KitMetrics, log: structlog.typing.FilteringBoundLogger) -> None:
        self._metrics = metrics
        self._log = log

    async def intercept_service(  # type: ignore[override]
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler: grpc.RpcMethodHandler[Any, Any] | None = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or not method.startswith("/firetrial."):
            return handler
        codecs = {
            "request_deserializer": handler.request_deserializer,
            "response_serializer": handler.response_serializer,
        }
        if handler.response_streaming:
            kind = grpc.stream_stream_rpc_method_handler if handler.request_streaming else (
                grpc.unary_stream_rpc_method_handler
            )  # fmt: skip
            inner = handler.stream_stream if handler.request_streaming else handler.unary_stream
            return kind(self._streaming(method, inner), **codecs)  # type: ignore[arg-type]
        kind = grpc.stream_unary_rpc_method_handler if handler.request_streaming else (
            grpc.unary_unary_rpc_method_handler
        )  # fmt: skip
        inner = handler.stream_unary if handler.request_streaming else handler.unary_unary
        return kind(self._single(method, inner), **codecs)  # type: ignore[arg-type]

    def _single(self, method: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def call(request: Any, context: Any) -> Any:
            async with self._around(method, context):
                left = context.time_remaining()
                async with asyncio.timeout(DEFAULT_DEADLINE if left is None else left):
                    return await inner(request, context)

        return call

    def _streaming(self, method: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def call(request: Any, context: Any) -> AsyncIterator[Any]:
            async with self._around(method, context):
                async for response in inner(request, context):
                    yield response

        return call

    @asynccontextmanager
    async def _around(self, method: str, context: Any) -> AsyncIterator[None]:
        started, code = time.perf_counter(), "OK"
        metadata = dict(context.invocation_metadata() or ())
        with trace.bound(metadata.get("traceparent"), method=method):
            try:
                yield
            except FiretrialError as error:
                code = error.code
                self._log.info("refused", reason=error.reason, error=error.message)
                await context.abort_with_status(rpc_status.to_status(status_of(error)))
            except TimeoutError:
                code = "DEADLINE_EXCEEDED"
                late = FiretrialError(Reason.DEADLINE, f"{method} did not finish within its deadline")
                await context.abort_with_status(rpc_status.to_status(status_of(late)))
            except (asyncio.CancelledError, GeneratorExit):
                code = "CANCELLED"
                raise
            except grpc.aio.AbortError:
                code = "ABORTED"
                raise
            except Exception:  # noqa: BLE001 - one of the three edges
                code, number = "INTERNAL", secrets.token_hex(4)
                self._log.exception("bug", error_id=number)
                bug = FiretrialError(Reason.INTERNAL, f"internal error {number}; the service's log has it")
                await context.abort_with_status(rpc_status.to_status(status_of(bug)))
            finally:
                self._metrics.rpc.labels(method, code).observe(time.perf_counter() - started)
