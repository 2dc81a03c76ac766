"""The deployed files, run: TLS to Envoy, mTLS behind it, tokens for callers, least rights at the broker."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import ssl
import subprocess
import urllib.error
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from firetrial.parser.v1 import parser_service_pb2, parser_service_pb2_grpc
from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, FiretrialError, Reason, make_plan
from support import servers, tls
from support.agents import SORTING, register
from support.cluster import SERVICES
from support.deployed import Deployed, deployed, user

pytestmark = [
    pytest.mark.needs("nats-server", "weed", "bwrap", "envoy", "openssl"),
    pytest.mark.timeout(300),
]

QUIET_S = 20 if os.environ.get("FIRETRIAL_BENCH") == "full" else 4


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("deployed")
    with deployed(folder / "run", tls.secrets(folder / "secrets"), s3_server) as found:
        yield found


@pytest.fixture
def token(system: Deployed) -> str:
    return (system.secrets / "client" / "token").read_text()


@pytest.fixture
def channel(system: Deployed) -> Iterator[grpc.Channel]:
    """TLS to the endpoint, and no token yet."""
    with _secure(system, f"localhost:{system.envoy.port}") as found:
        yield found


def _secure(system: Deployed, address: str) -> grpc.Channel:
    ca = (system.secrets / "client" / "ca.pem").read_bytes()
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(ca))


def _code(call: grpc.RpcError) -> grpc.StatusCode:
    assert isinstance(call, grpc.Call)
    return call.code()


def _cli(
    system: Deployed, *argv: str, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, **system.environ, **(environ or {})}
    argv = (str(servers.BIN / "firetrial"), *argv)
    return subprocess.run(argv, env=told, capture_output=True, text=True, timeout=200)


def test_an_experiment_from_the_command_line_until_it_is_deleted(
    system: Deployed, study: Path, tmp_path: Path
) -> None:
    command = f"sh -c \"echo planning; printf '{SORTING['right']}' > conclusion.md\""
    told = ("--paper", str(study), "--agent-command", command, "--judge", "offline")
    ended = _cli(system, "run", *told, "--out", str(tmp_path / "out"), "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (tmp_path / "out" / "report.html").exists()
    report = json.loads(ended.stdout)
    assert '"scored": 1' in json.dumps(report)
    for name in SERVICES:
        assert "permissions violation" not in system.cluster.log(name).lower(), name
        assert "may not" not in system.cluster.log(name), name
    proof = _deleted(system, report["experiment_id"])
    assert proof["removed"]["facts"]
    assert proof["listed_again"] == {"found": []}


def _deleted(system: Deployed, experiment: str) -> Any:
    """The proof, by the broker's user `operator`."""
    access, secret = system.cluster.s3.keys["admin"]
    operator = {
        **user("operator", system.secrets, system.nats_url),
        "FIRETRIAL_OBJECTS_URL": system.cluster.s3.url,
        "FIRETRIAL_S3_ACCESS_KEY": access,
        "FIRETRIAL_S3_SECRET_KEY": secret,
    }
    ended = _cli(system, "admin", "delete", "experiment", experiment, "--yes", "--json", environ=operator)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


async def test_a_watch_lives_while_nothing_happens(system: Deployed, study: Path) -> None:
    """One stream, in the full form for longer than Envoy would let it live if it were not told to."""
    seen: dict[str, run_pb2.Run] = {}
    async with AsyncFiretrial(environ=system.environ) as client:
        plan = make_plan([await register(client, "sleepy")], judge="offline")
        experiment = (await client.submit_paper(study, plan=plan)).experiment_id

        async def watch() -> None:
            async for run in client.watch_runs(experiment, timeout=120, appear=30):
                seen[run.id] = run

        watching = asyncio.create_task(watch())
        while not any(run.state == run_pb2.RUN_STATE_RUNNING for run in seen.values()):
            await asyncio.sleep(0.1)
        await asyncio.sleep(QUIET_S)
        assert not watching.done()
        await client.cancel_experiment(experiment)
        await asyncio.wait_for(watching, 30)
    assert {run.outcome for run in seen.values()} == {run_pb2.OUTCOME_CANCELLED}

    def one_stream() -> bool:
        watched = [call["ms"] for call in system.envoy.calls() if call["path"].endswith("/WatchRuns")]
        return max(watched, default=0) > QUIET_S * 1000

    servers.wait_for(one_stream, "the log of the watch")


def test_a_stranger_is_told_that_he_is_one(system: Deployed, channel: grpc.Channel, token: str) -> None:
    stub = parser_service_pb2_grpc.ParserServiceStub(channel)
    for metadata in ((), _bearer("ftk_guessed")):
        with pytest.raises(grpc.RpcError) as caught:
            stub.ListPapers(parser_service_pb2.ListPapersRequest(), metadata=metadata, timeout=10)
        assert _code(caught.value) is grpc.StatusCode.UNAUTHENTICATED
    stub.ListPapers(parser_service_pb2.ListPapersRequest(), metadata=_bearer(token), timeout=10)


def _bearer(token: str, *more: tuple[str, str]) -> tuple[tuple[str, str | bytes], ...]:
    return (("authorization", f"Bearer {token}"), *more)


def test_a_service_answers_envoy_and_those_it_knows_alone(system: Deployed, token: str) -> None:
    """With the token, but past Envoy: without a certificate there is no connection."""
    with _secure(system, f"localhost:{system.cluster.ports['parser']}") as channel:
        stub = parser_service_pb2_grpc.ParserServiceStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            stub.ListPapers(parser_service_pb2.ListPapersRequest(), metadata=_bearer(token), timeout=10)
        assert _code(caught.value) is grpc.StatusCode.UNAVAILABLE


def test_what_is_no_service_is_unimplemented(channel: grpc.Channel) -> None:
    for method in ("/firetrial.courier.v1.CourierService/Send", "/nothing"):
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(method, bytes, bytes)(b"", timeout=10)
        assert _code(caught.value) is grpc.StatusCode.UNIMPLEMENTED


def test_health_and_reflection_are_asked_of_the_service_that_is_meant(
    channel: grpc.Channel, token: str
) -> None:
    health = health_pb2_grpc.HealthStub(channel)
    reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
    everything = reflection_pb2.ServerReflectionRequest(list_services="")
    for service in SERVICES:
        name = f"firetrial.{service}.v1.{service.title()}Service"
        metadata = _bearer(token, ("firetrial-service", service))
        answer = health.Check(health_pb2.HealthCheckRequest(service=name), metadata=metadata, timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        told = next(iter(reflection.ServerReflectionInfo(iter([everything]), metadata=metadata, timeout=10)))
        assert name in {each.name for each in told.list_services_response.service}


def test_a_client_sees_all_four_and_who_it_is(system: Deployed) -> None:
    told = json.loads(_cli(system, "status", "--json").stdout)
    assert told["services"] == dict.fromkeys(SERVICES, "serving")
    assert "operate" in _cli(system, "whoami", "--json").stdout


class Web:
    """A browser's connection: HTTP/1.1 with TLS."""

    def __init__(self, system: Deployed) -> None:
        trusted = ssl.create_default_context(cafile=str(system.secrets / "client" / "ca.pem"))
        self._connection = http.client.HTTPSConnection(
            "localhost", system.envoy.port, context=trusted, timeout=10
        )

    def ask(
        self, verb: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> tuple[http.client.HTTPResponse, bytes]:
        self._connection.request(verb, path, body, dict(headers or {}))
        answer = self._connection.getresponse()
        return answer, answer.read()

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def web(system: Deployed) -> Iterator[Web]:
    with closing(Web(system)) as found:
        yield found


LIST = "/firetrial.parser.v1.ParserService/ListPapers"


def test_a_page_asks_by_grpc_web(web: Web, token: str) -> None:
    origin = {"origin": "http://localhost:5173"}
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    allowed, _ = web.ask("OPTIONS", LIST, {**origin, **asked})
    assert allowed.headers["access-control-allow-origin"] == origin["origin"]
    assert "authorization" in allowed.headers["access-control-allow-headers"]
    headers = {**origin, "content-type": "application/grpc-web+proto", "authorization": f"Bearer {token}"}
    answer, body = web.ask("POST", LIST, headers, b"\0\0\0\0\0")
    assert answer.status == 200
    frames = dict(_frames(body))
    parser_service_pb2.ListPapersResponse.FromString(frames[0])
    assert b"grpc-status:0" in frames[0x80]
    other, _ = web.ask("OPTIONS", LIST, {"origin": "https://elsewhere.example", **asked})
    assert other.headers["access-control-allow-origin"] is None


def _frames(body: bytes) -> Iterator[tuple[int, bytes]]:
    while body:
        size = int.from_bytes(body[1:5], "big")
        yield body[0], body[5 : 5 + size]
        body = body[5 + size :]


async def test_a_service_comes_back_where_it_was(system: Deployed, web: Web) -> None:
    def healthy() -> bool:
        return web.ask("GET", "/healthz")[0].status == 200

    async with AsyncFiretrial(environ=system.environ, timeout=5) as client:
        servers.wait_for(healthy, "health", 15)
        system.cluster.processes["runner"].terminate()
        system.cluster.processes["runner"].wait(30)
        with pytest.raises(FiretrialError) as caught:
            [agent async for agent in client.list_agents()]
        assert caught.value.reason == Reason.UNAVAILABLE
        [paper async for paper in client.list_papers()]  # the others answer meanwhile
        servers.wait_for(lambda: not healthy(), "what is missing", 15)
        system.cluster.start("runner")
        servers.wait_for(healthy, "health", 15)
        assert [agent async for agent in client.list_agents()]


def test_headers_are_bounded_and_unambiguous(system: Deployed, token: str) -> None:
    known = {"content-type": "application/grpc-web+proto", "authorization": f"Bearer {token}"}
    for headers, status in (({"x": "y" * 40_000}, 431), ({"firetrial_tenant": "other"}, 400)):
        with closing(Web(system)) as web:
            assert web.ask("POST", LIST, {**known, **headers}, b"\0\0\0\0\0")[0].status == status


def test_figures_are_told_and_nothing_else_of_the_inside(system: Deployed) -> None:
    assert 'envoy_cluster_membership_healthy{envoy_cluster_name="judge"} 1' in system.envoy.figure(
        "/stats/prometheus"
    )
    for path in ("/config_dump", "/certs", "/quitquitquit", "/stats"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            system.envoy.figure(path)


def test_nothing_in_the_file_is_deprecated(system: Deployed) -> None:
    assert "deprecated" not in system.envoy.log.read_text().lower()


def test_the_access_log_tells_who_called_what_and_no_token(system: Deployed, token: str) -> None:
    paths = {call["path"] for call in system.envoy.calls()}
    assert {"/firetrial.parser.v1.ParserService/SubmitPaper", LIST} <= paths
    text = system.envoy.log.read_text()
    assert token[4:20] not in text
