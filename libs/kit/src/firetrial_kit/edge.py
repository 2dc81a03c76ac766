"""Around every call: who calls, trace, deadline, audit, metrics, and the only translation of errors."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import structlog
from google.protobuf import any_pb2, duration_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from firetrial_kit import auth, owned, tenants, trace
from firetrial_kit.audit import Audit, Call
from firetrial_kit.auth import Gate
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.metrics import KitMetrics
from firetrial_kit.trace import Kind

ERROR_DOMAIN = "firetrial"
# The longest that a call with one answer may take where the caller set no deadline.
DEFAULT_DEADLINE = 120.0
_LATE = 5.0
"""Seconds that the audit of a call that came to nothing may take: its answer does not wait for longer."""


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
class Edge(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Without an `audit` nothing is told of calls."""

    gate: Gate
    audit: Audit | None
    clock: Clock
    metrics: KitMetrics
    log: structlog.typing.FilteringBoundLogger

    async def intercept_service(  # type: ignore[override]
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler: grpc.RpcMethodHandler[Any, Any] | None = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(auth.OPEN):
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
        async def answer(request: Any, context: Any) -> Any:
            async with self._around(method, context) as call:
                left = context.time_remaining()
                async with asyncio.timeout(DEFAULT_DEADLINE if left is None else left):
                    response = await inner(_asked(request, call), context)
                call.resources += owned.ids(response) if auth.rule_of(method).changes else ()
                return response

        return answer

    def _streaming(self, method: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
            async with self._around(method, context) as call:
                async for response in inner(_asked(request, call), context):
                    if call.principal is None or not self.gate.holds(call.principal):
                        raise FiretrialError(
                            Reason.UNAUTHENTICATED, "the token was taken back, or has expired"
                        )
                    yield response

        return answer

    @asynccontextmanager
    async def _around(self, method: str, context: Any) -> AsyncIterator[Call]:
        metadata = tuple(context.invocation_metadata() or ())
        parent = next((value for name, value in metadata if name == "traceparent"), None)
        error: FiretrialError | None = None
        started, code = time.perf_counter(), "OK"
        told = {"rpc.system.name": "grpc", "rpc.method": method[1:]}
        with (
            trace.bound(parent if isinstance(parent, str) else None, method=method),
            trace.span(method[1:], Kind.SERVER, told) as span,
        ):
            call = self._call(method, context)
            try:
                call.principal = self.gate.known(metadata, auth.peer_of(context))
                call.tenant = auth.tenant_of(call.principal, metadata)
                self.gate.check(method, call.principal)
                with tenants.acting(call.tenant):
                    yield call
                await self._tell(call, code)
            except FiretrialError as refusal:
                error = refusal
                self.log.info("refused", reason=error.reason, error=error.message, who=_name(call))
            except TimeoutError:
                error = FiretrialError(Reason.DEADLINE, f"{method} did not finish within its deadline")
            except (asyncio.CancelledError, GeneratorExit):
                code = "CANCELLED"
                await asyncio.shield(self._tell_refusal(call, code))
                raise
            except grpc.aio.AbortError:
                code = "ABORTED"
                raise
            except Exception:
                number = secrets.token_hex(4)
                self.log.exception("bug", error_id=number)
                error = FiretrialError(Reason.INTERNAL, f"internal error {number}; the service's log has it")
            finally:
                code = error.code if error else code
                span.note({"rpc.response.status_code": code})
                if code not in {"OK", "CANCELLED"}:
                    span.fail(code)
                self.metrics.rpc.labels(method, code).observe(time.perf_counter() - started)
            if error is not None:
                await self._tell_refusal(call, code)
                await context.abort_with_status(rpc_status.to_status(status_of(error)))

    def _call(self, method: str, context: Any) -> Call:
        now, trace_id = self.clock.now(), trace.current()[3:35]
        return Call(method, str(context.peer()), now, self.clock.monotonic(), trace_id)

    async def _tell(self, call: Call, code: str) -> None:
        if self.audit is not None and auth.rule_of(call.method).changes:
            await self.audit.tell(call, code)

    async def _tell_refusal(self, call: Call, code: str) -> None:
        if self.audit is None or not auth.rule_of(call.method).changes:
            return
        try:
            async with asyncio.timeout(_LATE):
                await self.audit.tell_refusal(call, code)
        except TimeoutError:
            self.log.warning("audit not stored in time", method=call.method, code=code)


def _asked(request: Any, call: Call) -> Any:
    """The request or requests, with every id in them one of the caller's tenant."""
    if hasattr(request, "DESCRIPTOR"):
        call.resources += owned.take(request)
        return request
    return _each(request, call)


async def _each(requests: AsyncIterator[Any], call: Call) -> AsyncIterator[Any]:
    async for request in requests:
        call.resources += owned.take(request)
        yield request


def _name(call: Call) -> str:
    return call.principal.name if call.principal else "a stranger"
