"""Around every call: who calls, trace, deadline, audit, metrics, and the only translation of errors."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import structlog
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import DecodeError, Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from firetrial_kit import auth, bounds, owned, tenants, trace
from firetrial_kit.audit import Audit, Call
from firetrial_kit.auth import Gate
from firetrial_kit.bounds import Streams
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_kit.metrics import KitMetrics
from firetrial_kit.trace import Kind

ERROR_DOMAIN = "firetrial"
# The longest that a call with one answer may take where the caller set no deadline.
DEFAULT_DEADLINE = 120.0
_LONGEST = 3600.0
"""The same where the caller set one."""
# Bytes. The message travels percent-encoded, at up to three times its size, and with the faults in base64.
_MESSAGE, _FAULTS = 800, 2600
_LATE = 5.0
"""Seconds that the audit of a call that came to nothing may take: its answer does not wait for longer."""


def status_of(error: FiretrialError) -> status_pb2.Status:
    """The error as google.rpc.Status: reason, bad fields and retry hint as the standard details.

    As much of it as arrives: it travels twice, in headers of which a client takes 8 KiB.
    """
    details: list[Any] = [error_details_pb2.ErrorInfo(reason=error.reason.value, domain=ERROR_DOMAIN)]
    if error.faults:
        details.append(error_details_pb2.BadRequest(field_violations=_violations(error.faults)))
    if error.retry_after is not None:
        delay = duration_pb2.Duration()
        delay.FromNanoseconds(int(error.retry_after * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    packed = []
    for detail in details:
        packed.append(any_pb2.Any())
        packed[-1].Pack(detail)
    code, told = code_pb2.Code.Value(error.code), _cut(error.message, _MESSAGE)
    return status_pb2.Status(code=code, message=told, details=packed)


def _violations(faults: Sequence[Fault]) -> Iterator[error_details_pb2.BadRequest.FieldViolation]:
    room = _FAULTS
    for at, fault in enumerate(faults):
        field, told = _cut(fault.field, _FAULTS // 4), _cut(str(fault), _FAULTS // 2)
        room -= len(field.encode()) + len(told.encode()) + 6
        if room < 0:
            field, told = "…", f"{len(faults) - at} more of {len(faults)} faults"
        yield error_details_pb2.BadRequest.FieldViolation(field=field, description=told)
        if room < 0:
            return


def _cut(text: str, size: int) -> str:
    """`text`, where it has more than `size` bytes only its beginning; what cannot be written is replaced."""
    data = text.encode("utf-8", "replace")
    return data.decode() if len(data) <= size else data[:size].decode("utf-8", "ignore") + "…"


@dataclass(frozen=True, slots=True)
class Edge(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Without an `audit` nothing is told of calls.

    To gRPC each method takes a stream of bytes: so nothing that a stranger sends is waited for, or parsed.
    """

    gate: Gate
    audit: Audit | None
    clock: Clock
    metrics: KitMetrics
    log: structlog.typing.FilteringBoundLogger
    streams: Streams = field(default_factory=Streams)

    async def intercept_service(  # type: ignore[override]
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler: grpc.RpcMethodHandler[Any, Any] | None = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(auth.OPEN):
            return handler
        inner = _servicers(handler)
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(
                self._streaming(method, handler, inner), response_serializer=handler.response_serializer
            )
        return grpc.stream_unary_rpc_method_handler(
            self._single(method, handler, inner), response_serializer=handler.response_serializer
        )

    def _single(self, method: str, handler: Any, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def answer(bodies: AsyncIterable[bytes], context: Any) -> Any:
            async with self._around(method, context) as call:
                left = context.time_remaining()
                async with asyncio.timeout(DEFAULT_DEADLINE if left is None else min(left, _LONGEST)):
                    response = await inner(await _asked(handler, bodies, call), context)
                call.resources += owned.ids(response) if auth.rule_of(method).changes else ()
                return response

        return answer

    def _streaming(self, method: str, handler: Any, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def answer(bodies: AsyncIterable[bytes], context: Any) -> AsyncIterator[Any]:
            async with self._around(method, context) as call:
                with self.streams.one_of(call.owner):
                    async for response in inner(await _asked(handler, bodies, call), context):
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
                said = _cut(refusal.message, _MESSAGE)
                self.log.info("refused", reason=error.reason, error=said, who=_name(call))
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
            self.audit.lost(call, code, f"not within {_LATE:g} s")


def _servicers(handler: grpc.RpcMethodHandler[Any, Any]) -> Callable[..., Any]:
    """The servicer's own function."""
    asks, answers = (
        "stream" if many else "unary" for many in (handler.request_streaming, handler.response_streaming)
    )
    found: Callable[..., Any] = getattr(handler, f"{asks}_{answers}")
    return found


async def _asked(handler: Any, bodies: AsyncIterable[bytes], call: Call) -> Any:
    """The request or requests, with every id in them one of the caller's tenant."""
    if handler.request_streaming:
        return _each(handler, bodies, call)
    async with asyncio.timeout(DEFAULT_DEADLINE):
        body = await anext(aiter(bodies), None)
    if body is None:
        raise invalid("the call", [Fault("request", "", "must be there")])
    return _taken(handler, body, call)


async def _each(handler: Any, bodies: AsyncIterable[bytes], call: Call) -> AsyncIterator[Any]:
    async for body in bodies:
        yield _taken(handler, body, call)


def _taken(handler: Any, body: bytes, call: Call) -> Message:
    try:
        request: Message = handler.request_deserializer(body)
    except DecodeError as error:
        raise invalid("the call", [Fault("request", "", f"must be what {call.method} takes")]) from error
    bounds.check(request)
    call.resources += owned.take(request)
    return request


def _name(call: Call) -> str:
    return call.principal.name if call.principal else "a stranger"
