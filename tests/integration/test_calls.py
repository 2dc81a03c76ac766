"""Calls at the edge of a real gRPC server: who is let in, to which resources, and what is told of it."""
# ruff: noqa: N802 - names are the generated class's

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from prometheus_client import CollectorRegistry

from firetrial.access.v1 import access_pb2, identity_service_pb2, identity_service_pb2_grpc
from firetrial.audit.v1.events_pb2 import CallAudited
from firetrial.judge.v1 import entailment_pb2, judge_service_pb2_grpc
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2, runner_service_pb2_grpc
from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial_kit import auth, bounds, rpc, tenants, tokens
from firetrial_kit.audit import Audit
from firetrial_kit.bus import Outgoing
from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_kit.metrics import KitMetrics
from firetrial_kit.neighbours import channel_to
from firetrial_kit.records import Records
from firetrial_kit.settings import SettingsError
from firetrial_kit.testing import InMemoryBus, InMemoryState
from support import pki

NAME = "firetrial.runner.v1.RunnerService"
TOKENS = {name: tokens.new_token() for name in ("acme", "acme-reads", "umbra", "ops", "judge")}


# The generated class is abstract to mypy alone; what is not overridden is a method that is not there.
_Servicer: Any = runner_service_pb2_grpc.RunnerServiceServicer
_JudgeServicer: Any = judge_service_pb2_grpc.JudgeServiceServicer


class Runs(_Servicer):  # type: ignore[misc]
    """As small a servicer as one can be that makes runs, shows them and lists them."""

    def __init__(self) -> None:
        self.records = Records(InMemoryState(), "run", str)

    async def ImportRun(self, request_iterator: AsyncIterator[pb.ImportRunRequest], context: Any) -> Any:
        parts = [part async for part in request_iterator]
        if parts[0].header.task_id.endswith("many"):
            raise invalid("it", (Fault(f"field-{number}", "x" * 50, "must be é") for number in range(1000)))
        id_ = tenants.mine(f"r-{parts[0].header.task_id.rpartition('--')[2]}")
        await self.records.create(id_, id_)
        return pb.ImportRunResponse(run=run_pb2.Run(id=id_, task_id=parts[0].header.task_id))

    async def GetRun(self, request: pb.GetRunRequest, context: Any) -> pb.GetRunResponse:
        return pb.GetRunResponse(run=run_pb2.Run(id=await self.records.get(request.id)))

    async def ListRuns(self, request: pb.ListRunsRequest, context: Any) -> pb.ListRunsResponse:
        found, token = await self.records.page(request.page_size, request.page_token)
        return pb.ListRunsResponse(runs=[run_pb2.Run(id=id_) for id_ in found], next_page_token=token)

    async def WatchRuns(
        self, request: pb.WatchRunsRequest, context: Any
    ) -> AsyncIterator[pb.WatchRunsResponse]:
        while True:
            yield pb.WatchRunsResponse(run=run_pb2.Run(id=request.experiment_id))
            await asyncio.sleep(0.01)


class Judge(_JudgeServicer):  # type: ignore[misc]
    """Remembers for whom it was asked."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    async def CheckEntailment(self, request: Any, context: Any) -> Any:
        self.asked.append(tenants.current())
        return entailment_pb2.CheckEntailmentResponse()


class Bus(InMemoryBus):
    away = False

    async def publish(self, message: Outgoing) -> None:
        if self.away:
            raise FiretrialError(Reason.UNAVAILABLE, "NATS did not answer")
        await super().publish(message)


@dataclass(frozen=True, slots=True)
class Place:
    address: str
    channel: grpc.aio.Channel
    runs: Any
    judge: Judge
    bus: Bus
    file: Path
    log: list[Any]

    def told(self) -> list[CallAudited]:
        return [CallAudited.FromString(message.data) for message in self.bus.published]


def entry(name: str, scopes: list[str], tenant: str = "local") -> dict[str, Any]:
    return {"name": name, "scopes": scopes, "tenant": tenant, "sha256": tokens.hashed(TOKENS[name])}


ENTRIES = [
    entry("acme", ["submit", "read"], "acme"),
    entry("acme-reads", ["read"], "acme"),
    entry("umbra", ["submit", "read"], "umbra"),
    entry("ops", ["operate"]),
    entry("judge", ["service"]),
]


def write(path: Path, entries: list[dict[str, Any]]) -> None:
    aside = path.with_suffix(".new")
    quotas = {"acme": {"quotas": {"runs_at_once": 3}}, "umbra": {}}
    aside.write_text(json.dumps({"tenants": quotas, "tokens": entries}))
    aside.replace(path)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    file, bus, clock = tmp_path / "tokens.json", Bus(), SystemClock()
    write(file, ENTRIES)
    with structlog.testing.capture_logs() as told:
        log = structlog.get_logger()
        gate, audit = auth.open_gate(file, clock, log), Audit(bus, clock, log)
        metrics = KitMetrics(CollectorRegistry())
        server = rpc.Server("127.0.0.1:0", metrics=metrics, log=log, gate=gate, audit=audit)
        server.add(NAME, runner_service_pb2_grpc.add_RunnerServiceServicer_to_server, Runs())
        judge = Judge()
        add = judge_service_pb2_grpc.add_JudgeServiceServicer_to_server
        server.add("firetrial.judge.v1.JudgeService", add, judge)
        address = f"127.0.0.1:{await server.start()}"
        async with grpc.aio.insecure_channel(address) as channel:
            runs = runner_service_pb2_grpc.RunnerServiceStub(channel)
            yield Place(address, channel, runs, judge, bus, file, told)
        await server.stop(0)


def by(name: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {TOKENS[name]}"),)


async def made(place: Place, name: str, task: str) -> str:
    header = pb.ImportRunRequest(header=pb.ImportedRun(task_id=task))
    answer = await place.runs.ImportRun(iter([header, pb.ImportRunRequest(chunk=b"x")]), metadata=by(name))
    return str(answer.run.id)


async def code(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code()


async def test_tenants_see_their_own_and_nothing_of_others(place: Place) -> None:
    acme, umbra = await made(place, "acme", "x-1"), await made(place, "umbra", "x-1")
    assert (acme, umbra) == ("t-acme--r-x-1", "t-umbra--r-x-1")
    for asked in (acme, "r-x-1"):
        assert (await place.runs.GetRun(pb.GetRunRequest(id=asked), metadata=by("acme-reads"))).run.id == acme
    for asked in (umbra, "r-none", "t-umbra--r-none", "../r-x-1"):
        request = pb.GetRunRequest(id=asked)
        assert await code(place.runs.GetRun(request, metadata=by("acme"))) is grpc.StatusCode.NOT_FOUND
    for name, found in (("acme", [acme]), ("umbra", [umbra]), ("ops", [acme, umbra])):
        listed = await place.runs.ListRuns(pb.ListRunsRequest(), metadata=by(name))
        assert [run.id for run in listed.runs] == found
    foreign = pb.ListRunsRequest(page_token=umbra)
    assert await code(place.runs.ListRuns(foreign, metadata=by("acme"))) is grpc.StatusCode.INVALID_ARGUMENT
    assert (await place.runs.GetRun(pb.GetRunRequest(id=umbra), metadata=by("ops"))).run.id == umbra


async def test_a_watch_is_of_ones_own(place: Place) -> None:
    watch = place.runs.WatchRuns(pb.WatchRunsRequest(experiment_id="t-umbra--e-1"), metadata=by("acme"))
    assert (await watch.read()).run.id == "t-acme--t-umbra--e-1"
    watch.cancel()


async def test_a_token_that_is_taken_back_ends_what_goes_on(place: Place) -> None:
    watch = place.runs.WatchRuns(pb.WatchRunsRequest(experiment_id="e-1"), metadata=by("acme"))

    async def to_the_end() -> None:
        async for _ in watch:
            write(place.file, ENTRIES[1:])

    assert await code(asyncio.wait_for(to_the_end(), 10)) is grpc.StatusCode.UNAUTHENTICATED


async def test_health_is_open_and_reflection_is_for_readers(place: Place) -> None:
    health = health_pb2_grpc.HealthStub(place.channel)
    answer = await health.Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
    reflection = reflection_pb2_grpc.ServerReflectionStub(place.channel)
    ask = [reflection_pb2.ServerReflectionRequest(list_services="")]
    told = [x async for x in reflection.ServerReflectionInfo(iter(ask), metadata=by("acme-reads"))]
    assert NAME in {service.name for service in told[0].list_services_response.service}
    stranger = reflection.ServerReflectionInfo(iter(ask))
    assert await code(anext(aiter(stranger))) is grpc.StatusCode.UNAUTHENTICATED


async def test_callers_learn_who_they_are(place: Place) -> None:
    identity: Any = identity_service_pb2_grpc.IdentityServiceStub(place.channel)
    told = await identity.WhoAmI(identity_service_pb2.WhoAmIRequest(), metadata=by("acme"))
    assert (told.name, told.tenant, told.quotas.runs_at_once) == ("acme", "acme", 3)
    assert list(told.scopes) == [access_pb2.SCOPE_READ, access_pb2.SCOPE_SUBMIT]
    assert told.means == identity_service_pb2.MEANS_TOKEN
    assert not told.quotas.HasField("usd_per_month")
    stranger = identity.WhoAmI(identity_service_pb2.WhoAmIRequest())
    assert await code(stranger) is grpc.StatusCode.UNAUTHENTICATED


async def test_each_call_that_changes_something_is_told_also_a_refused_one(place: Place) -> None:
    run = await made(place, "acme", "x-1")
    assert await code(made(place, "acme-reads", "x-2")) is grpc.StatusCode.PERMISSION_DENIED
    header = pb.ImportRunRequest(header=pb.ImportedRun(task_id="x-3"))
    assert await code(place.runs.ImportRun(iter([header]))) is grpc.StatusCode.UNAUTHENTICATED
    cancel = place.runs.CancelRun(pb.CancelRunRequest(id="r-9"), metadata=by("umbra"))
    assert await code(cancel) is grpc.StatusCode.INTERNAL  # it is not there
    await place.runs.ListRuns(pb.ListRunsRequest(), metadata=by("acme"))
    told = [(each.tenant, each.principal, each.code, list(each.resources)) for each in place.told()]
    assert told == [
        ("acme", "acme", "OK", ["t-acme--x-1", run]),
        ("acme", "acme-reads", "PERMISSION_DENIED", []),
        ("", "", "UNAUTHENTICATED", []),
        ("umbra", "umbra", "INTERNAL", ["t-umbra--r-9"]),
    ]
    assert all(each.peer.startswith("ipv4:127.0.0.1:") and each.trace_id for each in place.told())


async def test_a_call_whose_audit_is_lost_is_not_answered_well(place: Place) -> None:
    place.bus.away = True
    assert await code(made(place, "acme", "x-1")) is grpc.StatusCode.UNAVAILABLE
    place.bus.away = False
    assert await made(place, "acme", "x-1") == "t-acme--r-x-1"
    assert [each.code for each in place.told()] == ["OK"]


HOSTILE = [
    "Bearer " + "a" * 7000,
    "Bearer " + TOKENS["ops"] + "x",
    "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJvcHMifQ.",
    "bearer",
    "Basic b3BzOm9wcw==",
    "Bearer ' or 1=1 --",
]


@pytest.mark.parametrize("value", HOSTILE, ids=map(str, range(len(HOSTILE))))
async def test_hostile_tokens_neither_get_in_nor_are_kept(place: Place, value: str) -> None:
    call = place.runs.GetRun(pb.GetRunRequest(id="r-1"), metadata=(("authorization", value),))
    assert await code(call) is grpc.StatusCode.UNAUTHENTICATED
    assert value[7:] not in repr(place.log) or not value[7:]
    assert not place.told()


async def test_a_flood_of_headers_is_refused(place: Place) -> None:
    many = (("authorization", f"Bearer {TOKENS['ops']}"),) * 100
    found = await code(place.runs.GetRun(pb.GetRunRequest(id="r-1"), metadata=many))
    assert found in {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert (await place.runs.ListRuns(pb.ListRunsRequest(), metadata=by("ops"))).runs == []


async def never() -> AsyncIterator[bytes]:
    await asyncio.sleep(60)
    yield b""


async def test_what_a_stranger_sends_is_neither_waited_for_nor_read(place: Place) -> None:
    """Neither one who never ends its request nor one whose request takes long to read costs anything."""
    slow = place.channel.stream_unary(f"/{NAME}/GetRun", bytes, bytes)
    assert await code(slow(never(), timeout=20)) is grpc.StatusCode.UNAUTHENTICATED
    garbage = place.channel.unary_unary(f"/{NAME}/GetRun", bytes, bytes)
    assert await code(garbage(b"\xff" * 1000)) is grpc.StatusCode.UNAUTHENTICATED
    assert await code(garbage(b"\xff" * 1000, metadata=by("acme"))) is grpc.StatusCode.INVALID_ARGUMENT
    nothing = place.channel.stream_unary(f"/{NAME}/GetRun", bytes, bytes)
    assert await code(nothing(iter(()), metadata=by("acme"))) is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_request_of_two_million_entries_holds_up_nobody(place: Place) -> None:
    proposals = [plan_pb2.GateProposal()] * 1_900_000
    gate = plan_pb2.Gate(proposals=proposals)
    header = pb.ImportedRun(task_id="x-1", slip=plan_pb2.Slip(plan=plan_pb2.Plan(gate=gate)))
    call = place.runs.ImportRun(iter([pb.ImportRunRequest(header=header)]), metadata=by("acme"), timeout=30)
    with pytest.raises(grpc.aio.AioRpcError, match="at most 20,000 entries") as caught:
        await call
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_one_tenants_streams_leave_room_for_others(place: Place) -> None:
    def watch(name: str) -> Any:
        return place.runs.WatchRuns(pb.WatchRunsRequest(experiment_id="e-1"), metadata=by(name), timeout=60)

    held = [watch("acme-reads" if number % 2 else "acme") for number in range(bounds.MOST_STREAMS)]
    await asyncio.gather(*(stream.read() for stream in held))
    assert await code(watch("acme").read()) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await watch("umbra").read()).run.id == "t-umbra--e-1"
    for stream in held:
        stream.cancel()

    async with asyncio.timeout(30):
        while True:
            try:
                await watch("acme").read()
                break
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.05)


async def test_no_token_is_in_any_log_line(place: Place) -> None:
    for name in TOKENS:
        await made(place, name, "x") if name in {"acme", "umbra"} else None
        with pytest.raises(grpc.aio.AioRpcError):
            await place.runs.GetRun(pb.GetRunRequest(id="r-none"), metadata=by(name))
    assert place.log
    assert not any(token[4:] in repr(place.log) for token in TOKENS.values())


async def test_services_say_who_they_are_and_for_whom_they_ask(place: Place) -> None:
    async with AsyncExitStack() as stack:
        channel = await channel_to(place.address, stack, token=TOKENS["judge"])
        identity: Any = identity_service_pb2_grpc.IdentityServiceStub(channel)
        told = await identity.WhoAmI(identity_service_pb2.WhoAmIRequest())
        assert (told.name, list(told.scopes)) == ("judge", [access_pb2.SCOPE_SERVICE])
        judge: Any = judge_service_pb2_grpc.JudgeServiceStub(channel)
        with tenants.acting("acme"):
            await judge.CheckEntailment(entailment_pb2.CheckEntailmentRequest())
        runs: Any = runner_service_pb2_grpc.RunnerServiceStub(channel)
        assert await code(runs.GetRun(pb.GetRunRequest(id="r-1"))) is grpc.StatusCode.PERMISSION_DENIED
    assert place.judge.asked == ["acme"]


async def test_a_service_sends_no_token_in_the_clear() -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match="in the clear"):
            await channel_to("judge.example:443", stack, token=TOKENS["judge"])


@pytest.mark.needs("openssl")
async def test_certificates_are_known_by_name_and_a_token_besides_counts_more(tmp_path: Path) -> None:
    ca, file = pki.authority(tmp_path), tmp_path / "tokens.json"
    own, lab, other = (pki.signed(tmp_path, name, ca) for name in ("server", "lab", "other"))
    told = [{"name": "acme-lab", "subject": "lab", "tenant": "acme", "scopes": ["read"]}]
    file.write_text(json.dumps({"tenants": {"acme": {}}, "tokens": [ENTRIES[3]], "certificates": told}))
    gate = auth.open_gate(file, SystemClock(), structlog.get_logger())
    metrics, log = KitMetrics(CollectorRegistry()), structlog.get_logger()
    tls = rpc.Tls(own.cert, own.key, ca.cert)
    server = rpc.Server("127.0.0.1:0", metrics=metrics, log=log, tls=tls, gate=gate)
    port = await server.start()

    async def whoami(shown: pki.Signed, metadata: Any = ()) -> str:
        pems = (path.read_bytes() for path in (ca.cert, shown.key, shown.cert))
        async with grpc.aio.secure_channel(
            f"127.0.0.1:{port}", grpc.ssl_channel_credentials(*pems)
        ) as channel:
            stub: Any = identity_service_pb2_grpc.IdentityServiceStub(channel)
            return str((await stub.WhoAmI(identity_service_pb2.WhoAmIRequest(), metadata=metadata)).name)

    assert await whoami(lab) == "acme-lab"
    assert await whoami(other, by("ops")) == await whoami(lab, by("ops")) == "ops"
    assert await code(whoami(other)) is grpc.StatusCode.UNAUTHENTICATED
    assert await code(whoami(lab, by("acme"))) is grpc.StatusCode.UNAUTHENTICATED
    await server.stop(0)


@pytest.mark.needs("openssl")
async def test_a_renewed_certificate_is_shown_without_a_restart(tmp_path: Path) -> None:
    ca, old, new = pki.authority(tmp_path), *(tmp_path / name for name in ("old", "new"))
    first, second = (pki.signed(_made(folder), folder.name, ca) for folder in (old, new))
    shown = rpc.Tls(tmp_path / "tls.pem", tmp_path / "tls.key", None)

    def put(signed: pki.Signed, key: bytes = b"") -> None:
        for path, data in (
            (shown.cert, signed.cert.read_bytes()),
            (shown.key, key or signed.key.read_bytes()),
        ):
            path.with_suffix(".aside").write_bytes(data)
            path.with_suffix(".aside").replace(path)

    put(first)
    with structlog.testing.capture_logs() as lines:
        metrics = KitMetrics(CollectorRegistry())
        server = rpc.Server("127.0.0.1:0", metrics=metrics, log=structlog.get_logger(), tls=shown)
        port = await server.start()
        assert await _subject(port) == "old"
        put(second, first.key.read_bytes())  # half of it: the key is not yet there
        assert await _subject(port) == "old"
        put(second)
        assert await _subject(port) == "new"
        await server.stop(0)
    assert [line["event"] for line in lines] == ["certificate is broken", "certificate read"]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def _subject(port: int) -> str:
    """The common name in the certificate that a server shows."""
    argv = ("s_client", "-connect", f"127.0.0.1:{port}", "-alpn", "h2")
    talking = await asyncio.create_subprocess_exec(
        "openssl", *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    told, _ = await talking.communicate()
    lines = told.decode(errors="replace").splitlines()
    return next(line for line in lines if line.startswith("subject=")).rpartition(" ")[2]


async def test_an_error_arrives_however_long_its_words_are(place: Place) -> None:
    """gRPC lets headers of 8 KiB through, and turns what is longer into an error of its own."""
    for id_ in ("a" * 300_000, "é" * 5_000):
        call = place.runs.GetRun(pb.GetRunRequest(id=id_), metadata=by("acme"))
        assert await code(call) is grpc.StatusCode.INVALID_ARGUMENT
    call = place.runs.ListRuns(pb.ListRunsRequest(page_token="a" * 300_000), metadata=by("acme"))
    assert await code(call) is grpc.StatusCode.INVALID_ARGUMENT
    many = pb.ImportRunRequest(header=pb.ImportedRun(task_id="many"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await place.runs.ImportRun(iter([many]), metadata=by("acme"))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "field-0 is" in str(caught.value.details())
    assert max(len(repr(line)) for line in place.log) < 10_000


@pytest.mark.needs("openssl")
@pytest.mark.skipif(os.environ.get("FIRETRIAL_BENCH") != "full", reason="ten seconds: FIRETRIAL_BENCH=full")
async def test_who_connects_and_says_nothing_is_hung_up_on(tmp_path: Path) -> None:
    own = pki.signed(tmp_path, "server", pki.authority(tmp_path))
    metrics, log = KitMetrics(CollectorRegistry()), structlog.get_logger()
    server = rpc.Server("127.0.0.1:0", metrics=metrics, log=log, tls=rpc.Tls(own.cert, own.key, None))
    port = await server.start()
    for first in (b"", b"\x16\x03\x01"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(first)
        async with asyncio.timeout(60):
            assert await reader.read() == b""
        writer.close()
    await server.stop(0)
