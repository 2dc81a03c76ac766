"""From a failed RPC to a FiretrialError, by the standard details of google.rpc.Status."""

from __future__ import annotations

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from firetrial_client.errors import Fault, FiretrialError, Reason

_DOMAIN = "firetrial"
# What a plain status means, where no Firetrial service put a reason with it (a proxy, the transport).
_PLAIN = {
    grpc.StatusCode.INVALID_ARGUMENT: Reason.INVALID,
    grpc.StatusCode.OUT_OF_RANGE: Reason.INVALID,
    grpc.StatusCode.NOT_FOUND: Reason.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS: Reason.ALREADY_EXISTS,
    grpc.StatusCode.ABORTED: Reason.CONFLICT,
    grpc.StatusCode.FAILED_PRECONDITION: Reason.PRECONDITION,
    grpc.StatusCode.PERMISSION_DENIED: Reason.DENIED,
    grpc.StatusCode.UNAUTHENTICATED: Reason.UNAUTHENTICATED,
    grpc.StatusCode.CANCELLED: Reason.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED: Reason.DEADLINE,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Reason.EXHAUSTED,
    grpc.StatusCode.UNAVAILABLE: Reason.UNAVAILABLE,
    grpc.StatusCode.UNIMPLEMENTED: Reason.NOT_YET,
    grpc.StatusCode.DATA_LOSS: Reason.CORRUPT,
}


def decode(error: grpc.Call, where: str) -> FiretrialError:
    """The error that a call to `where` ended with; `where` names a service and its address."""
    try:
        status = rpc_status.from_call(error)
    except ValueError:  # the details contradict the status, so they are not to be trusted
        status = None
    return _rich(status) if status is not None else _plain(error, where)


def _rich(status: status_pb2.Status) -> FiretrialError:
    reason, faults, retry_after = "", [], None
    for packed in status.details:
        if packed.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo.FromString(packed.value)
            reason = info.reason if info.domain == _DOMAIN else reason
        elif packed.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            bad = error_details_pb2.BadRequest.FromString(packed.value)
            faults += [Fault(found.field, found.description) for found in bad.field_violations]
        elif packed.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            delay = error_details_pb2.RetryInfo.FromString(packed.value).retry_delay
            retry_after = delay.ToNanoseconds() / 1e9
    by_code = {code.value[0]: plain for code, plain in _PLAIN.items()}
    return FiretrialError(
        reason or by_code.get(status.code, Reason.INTERNAL),
        status.message,
        faults=faults,
        retry_after=retry_after,
    )


def _plain(error: grpc.Call, where: str) -> FiretrialError:
    reason = _PLAIN.get(error.code(), Reason.INTERNAL)
    details = error.details() or error.code().name
    if reason is Reason.UNAVAILABLE:
        message = f"no answer from {where} ({details}): is it running? `firetrial up` starts it here"
    elif reason is Reason.DEADLINE:
        message = f"{where} did not answer in time"
    elif reason is Reason.NOT_YET:
        message = f"{where} does not know this call yet ({details})"
    else:
        message = f"{where}: {details}"
    return FiretrialError(reason, message)
