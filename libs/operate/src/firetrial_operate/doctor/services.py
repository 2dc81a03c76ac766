"""The four services by RPC: whether they answer, by which certificate, and whom they take the caller for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from firetrial.access.v1 import access_pb2, identity_service_pb2_grpc
from firetrial.access.v1 import identity_service_pb2 as identity
from firetrial_kit.jetstream import said
from firetrial_kit.settings import is_loopback
from firetrial_operate.doctor import certificates
from firetrial_operate.doctor.checks import BrokenError, Check, Told
from firetrial_operate.doctor.sights import Sights, stopwatch

_DEADLINE_S = 3.0
_PEOPLE = {"SCOPE_READ", "SCOPE_OPERATE"}
_START = "start it, or mend FIRETRIAL_ENDPOINT; its log says why it ended"
_TOKEN = "set FIRETRIAL_TOKEN_FILE to a token with the scope read or operate (firetrial admin tokens new)"  # noqa: S105


def checks(sights: Sights) -> Iterator[Check]:
    endpoints = sights.installation.endpoints
    for name, address in endpoints.items():
        yield Check(f"service.{name}", partial(_service, sights, name, address))
    if endpoints:
        later = tuple(f"service.{name}" for name in endpoints)
        yield Check("token", partial(_token, sights), later=later)


async def _service(sights: Sights, name: str, address: str) -> Told:
    environ = sights.installation.environ
    known = await _certificate(environ, address)
    async with _channel(environ, address) as channel:
        took = stopwatch()
        state = await _health(channel, name, address)
    if state != health_pb2.HealthCheckResponse.SERVING:
        word = health_pb2.HealthCheckResponse.ServingStatus.Name(state)
        raise BrokenError(f"at {address}: {word}", "it drains or has lost a part: see its log")
    sights.serving.add(name)
    return Told(f"serving at {address}, {took()}, {known.detail}", known.cure)


async def _certificate(environ: Mapping[str, str], address: str) -> Told:
    ca = environ.get("FIRETRIAL_TLS_CA")
    if not ca:
        return Told("in the clear")
    host, _, port = address.rpartition(":")
    try:
        return await certificates.shown(host.strip("[]"), int(port), Path(ca))
    except (OSError, ValueError) as error:
        raise BrokenError(f"no answer at {address}: {said(error)}", _START) from None


def _channel(environ: Mapping[str, str], address: str) -> grpc.aio.Channel:
    ca, cert, key = (environ.get(f"FIRETRIAL_TLS_{name}") for name in ("CA", "CERT", "KEY"))
    if not ca:
        return grpc.aio.insecure_channel(address)
    try:
        own = (Path(key).read_bytes(), Path(cert).read_bytes()) if cert and key else (None, None)
        return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(Path(ca).read_bytes(), *own))
    except OSError as error:
        raise BrokenError(str(error), "name PEM files that can be read") from None


async def _health(channel: grpc.aio.Channel, name: str, address: str) -> int:
    asked = health_pb2.HealthCheckRequest(service=f"firetrial.{name}.v1.{name.capitalize()}Service")
    try:
        answer = await health_pb2_grpc.HealthStub(channel).Check(
            asked, timeout=_DEADLINE_S, metadata=_of(name)
        )
    except grpc.aio.AioRpcError as error:
        if error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNIMPLEMENTED):
            raise BrokenError(f"what answers at {address} is not the {name}", "mend its address") from None
        raise BrokenError(f"no answer at {address}: {error.code().name}", _START) from None
    return int(answer.status)


def _of(name: str, token: str = "") -> grpc.aio.Metadata:
    told = [("firetrial-service", name), *([("authorization", f"Bearer {token}")] if token else [])]
    return grpc.aio.Metadata(*told)


async def _token(sights: Sights) -> Told:
    """Whom the services that answer take the caller for."""
    environ, endpoints = sights.installation.environ, sights.installation.endpoints
    if not sights.serving:
        return Told("no service answers that could be asked")
    token = _read(environ)
    clear = [endpoints[name] for name in sights.serving if not is_loopback(endpoints[name])]
    if token and clear and not environ.get("FIRETRIAL_TLS_CA"):
        raise BrokenError(f"the token would travel to {clear[0]} in the clear", "set FIRETRIAL_TLS_CA")
    names = sorted(sights.serving)
    told = await asyncio.gather(*(_whoami(environ, name, endpoints[name], token) for name in names))
    sights.versions |= {name: one.version or "not told" for name, one in zip(names, told, strict=True)}
    first, scopes = told[0], {access_pb2.Scope.Name(scope) for one in told for scope in one.scopes}
    may = ", ".join(sorted(scope.removeprefix("SCOPE_").lower() for scope in scopes)) or "nothing"
    if not all(_PEOPLE & {access_pb2.Scope.Name(scope) for scope in one.scopes} for one in told):
        raise BrokenError(f"{first.name} may {may}: neither see nor operate", _TOKEN)
    until = f", until {first.expires_at.ToDatetime():%Y-%m-%d}" if first.HasField("expires_at") else ""
    return Told(f"{first.name} of tenant {first.tenant} may {may}{until}")


def _read(environ: Mapping[str, str]) -> str:
    try:
        path = environ.get("FIRETRIAL_TOKEN_FILE")
        return environ.get("FIRETRIAL_TOKEN") or (Path(path).read_text("utf-8").strip() if path else "")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenError(f"FIRETRIAL_TOKEN_FILE: {error}", "name a file that can be read") from None


async def _whoami(environ: Mapping[str, str], name: str, address: str, token: str) -> identity.WhoAmIResponse:
    async with _channel(environ, address) as channel:
        stub = identity_service_pb2_grpc.IdentityServiceStub(channel)
        try:
            asked = identity.WhoAmIRequest()
            answer: identity.WhoAmIResponse = await stub.WhoAmI(
                asked, timeout=_DEADLINE_S, metadata=_of(name, token)
            )
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                raise BrokenError(f"the {name} does not know the caller", _TOKEN) from None
            if error.code() is grpc.StatusCode.PERMISSION_DENIED:
                raise BrokenError(f"the {name} refuses the caller: {error.details()}", _TOKEN) from None
            raise BrokenError(f"the {name} did not say: {error.code().name}", "see its log") from None
        return answer
