"""One installation of real parts, broken in one way after another: `firetrial doctor` names what is broken.

And nothing else: each set-up says which checks must fail, and all others must not.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets as random
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import minio
import pytest
import structlog
from click.testing import CliRunner
from nats.aio.client import Client

from firetrial_kit import jetstream, rpc, tokens
from firetrial_kit.metrics import KitMetrics, new_registry
from firetrial_kit.objects import BUCKETS
from firetrial_kit.s3 import S3Objects
from firetrial_operate.doctor.cli import doctor
from support import deployed, pki, servers, tls
from support.cluster import SERVICES

pytestmark = [pytest.mark.needs("nats-server", "weed", "openssl", "bwrap"), pytest.mark.timeout(180)]
OPERATE, SUBMIT, SERVICE = (tokens.new_token() for _ in range(3))
SLOWEST_S = 15.0


@dataclass(frozen=True, slots=True)
class Installation:
    """All of it, well. `environ` is that of an operator who has every service's credentials, too."""

    secrets: Path
    nats_url: str
    s3: servers.S3
    environ: dict[str, str]

    def user(self, service: str, **told: str) -> dict[str, str]:
        """Settings of one service's own."""
        return {f"FIRETRIAL_{service.upper()}_{name}": value for name, value in told.items()}


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """The command sends logs elsewhere, which is no other test's."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Installation]:
    secrets = tls.secrets(tmp_path_factory.mktemp("secrets"))
    folder = tmp_path_factory.mktemp("doctor")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with deployed.nats(folder / "nats", secrets) as url:
        deployed.make_streams(secrets, url)
        environ = _environ(folder, secrets, url, s3_server)
        with _services(folder, secrets, environ) as port:
            environ["FIRETRIAL_ENDPOINT"] = f"localhost:{port}"
            installation = Installation(secrets, url, s3_server, environ)
            servers.wait_for(lambda: asyncio.run(_runner_is_there(installation)), "the runner's word")
            yield installation


def _environ(folder: Path, secrets: Path, url: str, s3: servers.S3) -> dict[str, str]:
    (folder / "token").write_text(OPERATE)
    (folder / "token").chmod(0o600)
    environ = {
        **deployed.user("operator", secrets, url),
        "FIRETRIAL_OBJECTS_URL": s3.url,
        "FIRETRIAL_S3_ACCESS_KEY": s3.keys["operator"][0],
        "FIRETRIAL_S3_SECRET_KEY": s3.keys["operator"][1],
        "FIRETRIAL_HOME": str(folder / "home"),
        "FIRETRIAL_RUNNER_WORK_DIR": str(folder / "work"),
        "FIRETRIAL_TLS_CA": str(secrets / "authority" / "ca.pem"),
        "FIRETRIAL_TOKEN_FILE": str(folder / "token"),
    }
    for name in SERVICES:
        own = f"FIRETRIAL_{name.upper()}_"
        environ |= {
            f"{own}NATS_USER": name,
            f"{own}NATS_PASSWORD_FILE": str(secrets / name / "nats-password"),
            f"{own}S3_ACCESS_KEY": s3.keys[name][0],
            f"{own}S3_SECRET_KEY": s3.keys[name][1],
        }
    return environ


@contextmanager
def _services(folder: Path, secrets: Path, environ: Mapping[str, str]) -> Iterator[int]:
    """The four of them, in one process and behind TLS; gives the port."""
    entries = [
        {"name": name, "scopes": [name], "sha256": tokens.hashed(token)}
        for name, token in (("operate", OPERATE), ("submit", SUBMIT), ("service", SERVICE))
    ]
    (folder / "tokens.json").write_text(json.dumps({"tokens": entries}))
    told = folder / "ports.json"
    own = {
        "FIRETRIAL_RPC_ADDRESS": f"127.0.0.1:{servers.free_port()}",
        "FIRETRIAL_TLS_CERT": str(secrets / "judge" / "tls.pem"),
        "FIRETRIAL_TLS_KEY": str(secrets / "judge" / "tls.key"),
        "FIRETRIAL_TOKENS_FILE": str(folder / "tokens.json"),
        "FIRETRIAL_PORTS_FILE": str(told),
        "FIRETRIAL_DRAIN": "2",
    }
    with (folder / "services.log").open("wb") as log:
        argv = [sys.executable, "-m", "firetrial_kit.host", *SERVICES]
        process = subprocess.Popen(argv, env={**os.environ, **environ, **own}, stdout=log, stderr=log)

    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError((folder / "services.log").read_text()[-3000:])
        return told.exists()

    try:
        servers.wait_for(answers, "the services", 90)
        yield int(json.loads(told.read_text())["rpc"].rpartition(":")[2])
    finally:
        servers.end(process)


Findings = dict[str, dict[str, Any]]


def told(environ: Mapping[str, str], *argv: str) -> Findings:
    """What doctor finds, by name, within its time; its exit code says whether something is broken."""
    lacking = {name: None for name in os.environ if name.startswith("FIRETRIAL_")}
    began = time.monotonic()
    result = CliRunner(env={**lacking, **environ}).invoke(doctor, [*argv, "--json"])
    took = time.monotonic() - began
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    found = {one["name"]: one for one in json.loads(result.stdout)}
    assert result.exit_code == (1 if any(one["state"] == "fail" for one in found.values()) else 0)
    assert took < SLOWEST_S + 2
    for secret in [value for name, value in environ.items() if name.endswith(("PASSWORD", "SECRET_KEY"))]:
        assert secret not in result.output
    assert all(one["cure"] for one in found.values() if one["state"] in ("fail", "warn"))
    return found


def broken(found: Findings) -> set[str]:
    return {name for name, one in found.items() if one["state"] == "fail"}


async def _operator(well: Installation) -> Client:
    password = (well.secrets / "operator" / "nats-password").read_text()
    ca = well.secrets / "authority" / "ca.pem"
    return await jetstream.connect(well.nats_url, name="test", user="operator", password=password, ca=ca)


async def _runner_is_there(well: Installation) -> bool:
    client = await _operator(well)
    info = await client.jetstream().stream_info("KV_ft_runner")
    await client.close()
    return bool(info.state.messages)


def _kept(well: Installation) -> dict[str, Any]:
    """All that a check could have left: places in the streams, consumers, objects, uploads."""

    async def streams() -> dict[str, Any]:
        client = await _operator(well)
        js = client.jetstream()
        found: dict[str, Any] = {}
        for info in await js.streams_info():
            name = str(info.config.name)
            beats = name == "KV_ft_runner"  # runners say that they are there
            # Others come and go by themselves: whoever watches or lists has one.
            consumers = sorted(one.name for one in await js.consumers_info(name) if one.config.durable_name)
            found[name] = (None if beats else info.state.last_seq, info.state.messages, consumers)
        await client.close()
        return found

    url = well.s3.url.partition("//")[2]
    client = minio.Minio(url, *well.s3.keys["admin"], secure=False, region="us-east-1")
    objects = {
        bucket: sorted(str(one.object_name) for one in client.list_objects(bucket, recursive=True))
        for bucket in BUCKETS
    }
    uploads = {bucket: client._list_multipart_uploads(bucket).uploads for bucket in BUCKETS}
    return {
        **asyncio.run(streams()),
        **objects,
        **{f"uploads of {name}": len(found) for name, found in uploads.items()},
    }


def test_what_is_well_is_said_to_be_and_left_as_it_was(well: Installation) -> None:
    before = _kept(well)
    found = told(well.environ)
    assert broken(found) == set(), found
    assert _kept(well) == before
    assert {name for name, one in found.items() if one["state"] == "skip"} == set()
    looked = {"broker", "broker.streams", "objects", "objects.put", "clock.broker", "clock.objects", "token"}
    looked |= {
        f"{part}.{name}" for part in ("broker.rights", "objects.rights", "service") for name in SERVICES
    }
    assert looked <= found.keys()
    warned = {name: one["detail"] for name, one in found.items() if one["state"] == "warn"}
    # SeaweedFS has no right to write without that to delete: that is its truth, and no fault of the set-up.
    on_weed = {f"objects.rights.{name}" for name in SERVICES}
    assert warned.keys() <= {*on_weed, "cgroups", "open-files", "shared-memory"}, warned
    assert all("delete" in warned[name] and "read" not in warned[name] for name in on_weed & warned.keys())
    assert "2." in found["broker"]["detail"]
    assert "certificate until" in found["service.judge"]["detail"]
    assert "operate" in found["token"]["detail"]
    assert found["versions"]["detail"].endswith("(6)")  # four services, the runner's word for itself, doctor


Break = Callable[[Installation, Path], dict[str, str]]


def _broker_down(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_NATS_URL": f"tls://localhost:{servers.free_port()}"}


def _foreign_broker(_: Installation, folder: Path) -> dict[str, str]:
    return {"FIRETRIAL_NATS_TLS_CA": str(pki.authority(folder).cert)}


def _no_address(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_NATS_URL": "tls://localhost:many"}


def _wrong_password(well: Installation, _: Path) -> dict[str, str]:
    return well.user("runner", NATS_PASSWORD="guessed-password")


def _without_jetstream(well: Installation, _: Path) -> dict[str, str]:
    return {**deployed.user("watcher", well.secrets, well.nats_url)}


def _judge_of_the_broker(well: Installation, _: Path) -> dict[str, str]:
    password = str(well.secrets / "judge" / "nats-password")
    return well.user("runner", NATS_USER="judge", NATS_PASSWORD_FILE=password)


def _store_down(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_OBJECTS_URL": f"http://127.0.0.1:{servers.free_port()}"}


def _wrong_secret(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_S3_SECRET_KEY": "secret-of-nobody"}


def _reads_truth(well: Installation, _: Path) -> dict[str, str]:
    key, secret = well.s3.keys["judge"]
    return well.user("runner", S3_ACCESS_KEY=key, S3_SECRET_KEY=secret)


def _service_down(well: Installation, _: Path) -> dict[str, str]:
    return {"FIRETRIAL_ENDPOINT": _endpoints(well, f"localhost:{servers.free_port()}")}


def _endpoints(well: Installation, judge: str) -> str:
    there = well.environ["FIRETRIAL_ENDPOINT"]
    return ",".join(f"{name}={judge if name == 'judge' else there}" for name in SERVICES)


def _foreign_authority(_: Installation, folder: Path) -> dict[str, str]:
    return {"FIRETRIAL_TLS_CA": str(pki.authority(folder).cert)}


def _token_that_may_not_see(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_TOKEN": SUBMIT}


def _unknown_token(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_TOKEN": tokens.new_token()}


def _gateway_without_key(_: Installation, folder: Path) -> dict[str, str]:
    file = folder / "gateway.toml"
    file.write_text(
        '[upstreams.vendor]\nurl = "http://127.0.0.1:9/v1"\ndialect = "openai"\nmodels = ["m"]\n'
        'key_env = "FIRETRIAL_TEST_UNSET_KEY"\n'
    )
    return {"FIRETRIAL_RUNNER_GATEWAY": str(file)}


def _no_engine(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_RUNNER_SANDBOX": "docker", "DOCKER_HOST": "unix:///nowhere/docker.sock"}


def _bad_variables(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_RUNNER_ACK_WAIT": "soon", "FIRETRIAL_RUNNER_RPC_ADDRESS": "here"}


def _half_an_installation(*_: object) -> dict[str, str]:
    return {"FIRETRIAL_OBJECTS_URL": ""}


SET_UPS: list[tuple[Break, set[str], str]] = [
    (_broker_down, {"broker"}, "no broker answers at localhost"),
    (_foreign_broker, {"broker"}, "is not trusted"),
    (_no_address, {"broker"}, "is no address"),
    (_wrong_password, {"broker.login.runner"}, "does not let in 'runner'"),
    (_without_jetstream, {"broker.jetstream"}, "may not ask $JS.API.INFO"),
    (_judge_of_the_broker, {"broker.rights.runner"}, "ft.evt.judge.v1."),
    (_store_down, {"objects"}, "no answer from 127.0.0.1"),
    (_wrong_secret, {"objects.login.operator"}, "does not come with its secret key"),
    (_reads_truth, {"objects.rights.runner"}, "read truth"),
    (_service_down, {"service.judge"}, "no answer at localhost"),
    (_foreign_authority, {f"service.{name}" for name in SERVICES}, "is not trusted"),
    (_token_that_may_not_see, {"token"}, "neither see nor operate"),
    (_unknown_token, {"token"}, "does not know the caller"),
    (_gateway_without_key, {"gateway"}, "no key in FIRETRIAL_TEST_UNSET_KEY"),
    (_no_engine, {"sandbox"}, "docker"),
    (_bad_variables, {"settings.runner"}, "FIRETRIAL_RUNNER_RPC_ADDRESS"),
    (_half_an_installation, {"settings"}, "FIRETRIAL_OBJECTS_URL"),
]


@pytest.mark.parametrize(("spoil", "names", "said"), SET_UPS, ids=[each[0].__name__[1:] for each in SET_UPS])
def test_the_broken_part_is_named_and_no_other(
    well: Installation, tmp_path: Path, spoil: Break, names: set[str], said: str
) -> None:
    found = told({**well.environ, **spoil(well, tmp_path)})
    assert broken(found) == names, {name: found[name] for name in broken(found)}
    assert all(said.lower() in found[name]["detail"].lower() for name in names), found


def test_a_broker_of_debians_is_too_old(well: Installation, tmp_path: Path) -> None:
    with _old_broker(tmp_path) as url:
        found = told({**well.environ, "FIRETRIAL_NATS_URL": url})
    assert broken(found) == {"broker"}
    assert "2.9.10" in found["broker"]["detail"]
    assert "too old: 2.10" in found["broker"]["detail"]


@contextmanager
def _old_broker(folder: Path) -> Iterator[str]:
    """Debian's own where apt has it, else one who says that it is."""
    got = subprocess.run(["apt-get", "download", "nats-server=2.9.10*"], cwd=folder, capture_output=True)
    packages = list(folder.glob("nats-server_2.9.10*.deb"))
    if got.returncode or not packages:
        with _says_to_all(b'INFO {"server_id":"x","version":"2.9.10","max_payload":1048576}\r\n') as port:
            yield f"nats://127.0.0.1:{port}"
        return
    subprocess.run(["dpkg", "-x", packages[0].name, "there"], cwd=folder, check=True)
    port = servers.free_port()
    argv = [str(folder / "there/usr/sbin/nats-server"), "-js", "-sd", str(folder / "js"), "-a", "127.0.0.1"]
    with (folder / "old.log").open("wb") as log:
        process = subprocess.Popen([*argv, "-p", str(port)], stdout=log, stderr=log)
    try:
        servers.wait_for(lambda: b"Server is ready" in (folder / "old.log").read_bytes(), "the old broker")
        yield f"nats://127.0.0.1:{port}"
    finally:
        servers.end(process)


@contextmanager
def _says_to_all(line: bytes) -> Iterator[int]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(line)
            self.rfile.readline()

    with _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        yield port


@contextmanager
def _serving(server: socketserver.TCPServer) -> Iterator[int]:
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        port = server.socket.getsockname()[1]
        yield int(port)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("change", "state", "said"),
    [
        ({"subjects": ["ft.dead.judge.>"]}, "fail", "FT_DEAD: subjects is ['ft.dead.judge.>']"),
        ({"max_age": 108_000.0}, "warn", "FT_DEAD: max_age is 108000.0, should be 7776000.0"),
    ],
)
def test_a_stream_that_was_changed_is_named(
    well: Installation, change: dict[str, Any], state: str, said: str
) -> None:
    found = asyncio.run(_with_a_change(well, change))
    assert broken(found) == ({"broker.streams"} if state == "fail" else set())
    assert found["broker.streams"]["state"] == state
    assert said in found["broker.streams"]["detail"]


async def _with_a_change(well: Installation, change: dict[str, Any]) -> Findings:
    client = await _operator(well)
    js = client.jetstream()
    config = (await js.stream_info("FT_DEAD")).config
    kept = {name: getattr(config, name) for name in change}
    try:
        await js.update_stream(config.evolve(**change))
        return await asyncio.to_thread(told, well.environ)
    finally:
        await js.update_stream(config.evolve(**kept))
        await client.close()


def test_what_waits_for_nobody_and_what_was_given_up_is_warned_of(well: Installation) -> None:
    found = asyncio.run(_with_messages(well, "ft.work.run.gpu", "ft.dead.judge-run_finished"))
    assert broken(found) == set()
    assert (found["runners"]["state"], found["dead-letters"]["state"]) == ("warn", "warn")
    assert "1 wait for pool gpu" in found["runners"]["detail"]
    assert found["dead-letters"]["detail"] == "1 of judge-run_finished"


async def _with_messages(well: Installation, *subjects: str) -> Findings:
    client = await _operator(well)
    js = client.jetstream()
    places = [await js.publish(subject, b"x") for subject in subjects]
    try:
        return await asyncio.to_thread(told, well.environ)
    finally:
        for place in places:
            await js.delete_msg(place.stream, place.seq)
        await client.close()


def test_a_bucket_that_is_missing_is_named(well: Installation) -> None:
    url = well.s3.url.partition("//")[2]
    admin = minio.Minio(url, *well.s3.keys["admin"], secure=False, region="us-east-1")
    admin.remove_bucket("sealed")
    try:
        found = told(well.environ)
    finally:
        admin.make_bucket("sealed")
    assert broken(found) == {"objects.buckets"}
    assert found["objects.buckets"]["detail"] == "missing: sealed"


@pytest.mark.parametrize(("ahead_s", "state"), [(120.0, "fail"), (-20.0, "warn")])
def test_a_clock_that_is_off_is_named(well: Installation, ahead_s: float, state: str) -> None:
    with _another_time(well.s3.url, ahead_s) as url:
        found = told(
            {**well.environ, "FIRETRIAL_OBJECTS_URL": url}, "--only", "objects.put", "--only", "clock"
        )
    assert broken(found) == ({"clock.objects"} if state == "fail" else set())
    assert found["clock.objects"]["state"] == state
    assert ("ahead of" if ahead_s > 0 else "behind") in found["clock.objects"]["detail"]
    assert float(found["clock.objects"]["detail"].split()[0]) == pytest.approx(abs(ahead_s), abs=3)


@contextmanager
def _another_time(url: str, ahead_s: float) -> Iterator[str]:
    """The store at `url`, with a clock of its own."""

    class Proxy(BaseHTTPRequestHandler):
        def _relay(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = [(name, value) for name, value in self.headers.items() if name.lower() != "connection"]
            answer = http.request(self.command, url + self.path, headers=headers, content=body)
            self.send_response_only(answer.status_code)
            for name, value in answer.headers.multi_items():
                if name in ("content-type", "etag", "server"):
                    self.send_header(name, value)
            when = parsedate_to_datetime(answer.headers["date"]) + timedelta(seconds=ahead_s)
            self.send_header("date", format_datetime(when, usegmt=True))
            length = 0 if answer.status_code == 204 else len(answer.content)
            self.send_header("content-length", str(length))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_PUT = do_POST = do_DELETE = _relay  # noqa: N815 - the base class's names

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    with httpx.Client(trust_env=False) as http, _serving(server) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("days", "state", "said"),
    [(-1, "fail", "expired"), (7, "warn", "certificate until"), (90, "fail", "NOT_SERVING")],
)
async def test_a_service_that_ends_soon_or_does_not_serve_is_named(
    well: Installation, tmp_path: Path, days: int, state: str, said: str
) -> None:
    made = _signed(tmp_path, well.secrets / "authority", days)
    log, metrics = structlog.get_logger(), KitMetrics(new_registry())
    server = rpc.Server("127.0.0.1:0", metrics=metrics, log=log, tls=rpc.Tls(made.cert, made.key, None))
    server.add("firetrial.judge.v1.JudgeService", lambda *_: None, object())
    port = await server.start()
    await server.set_health(serving=said != "NOT_SERVING")
    environ = {**well.environ, "FIRETRIAL_ENDPOINT": _endpoints(well, f"localhost:{port}")}
    try:
        found = await asyncio.to_thread(told, environ, "--only", "service", "--only", "token")
    finally:
        await server.stop(0)
    assert broken(found) == ({"service.judge"} if state == "fail" else set())
    assert found["service.judge"]["state"] == state
    assert said in found["service.judge"]["detail"]


def _signed(folder: Path, authority: Path, days: int) -> pki.Signed:
    made = pki.Signed(folder / "judge.pem", folder / "judge.key")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", made.key)
    (folder / "names").write_text("subjectAltName=DNS:localhost\n")
    for argv in (
        ("req", *key, "-out", folder / "csr", "-subj", "/CN=judge"),
        ("x509", "-req", "-in", folder / "csr", "-CA", authority / "ca.pem", "-CAkey", authority / "ca.key",
         "-set_serial", "7", "-days", str(days), "-extfile", folder / "names", "-out", made.cert),
    ):  # fmt: skip
        subprocess.run(["openssl", *map(str, argv)], check=True, capture_output=True)
    return made


@pytest.mark.parametrize("accepted", [False, True])
def test_a_model_that_refuses_the_key_is_named(well: Installation, tmp_path: Path, accepted: bool) -> None:
    key = random.token_hex(16)
    asked: list[str] = []

    class Models(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            well = accepted and self.headers["authorization"] == f"Bearer {key}"
            body = b'{"data": [{"id": "m"}]}' if well else b"{}"
            self.send_response(200 if well else 401)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None: ...

    (tmp_path / "key").write_text(key)
    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Models)) as port:
        judge = well.user("judge", MODEL_URL=f"http://127.0.0.1:{port}/v1", MODEL_NAME="m",
                          MODEL_KEY_FILE=str(tmp_path / "key"))  # fmt: skip
        found = told({**well.environ, **judge})
    assert asked == ["/v1/models"]  # and nothing that costs
    assert broken(found) == (set() if accepted else {"judge model"})
    assert ("1 models" if accepted else "refuses the key") in found["judge model"]["detail"]
    assert key not in json.dumps(found)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_disk_that_is_nearly_full_is_named(well: Installation, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(tmp_path)], check=True)
    try:
        found = told({**well.environ, "FIRETRIAL_RUNNER_WORK_DIR": str(tmp_path / "work")})
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert broken(found) == {"disk.work"}


def test_a_part_that_says_nothing_holds_up_no_other(well: Installation) -> None:
    with _says_to_all(b"") as port:
        silent = {
            "FIRETRIAL_NATS_URL": f"nats://127.0.0.1:{port}",
            "FIRETRIAL_OBJECTS_URL": f"http://127.0.0.1:{port}",
        }
        judge = f"127.0.0.1:{port}"
        found = told({**well.environ, **silent, "FIRETRIAL_ENDPOINT": _endpoints(well, judge)})
    assert broken(found) == {"broker", "objects", "service.judge"}
    assert found["token"]["ok"]


def test_a_service_is_looked_at_by_its_own_credentials(well: Installation) -> None:
    found = told(well.environ, "--service", "runner", "--only", "broker", "--only", "objects")
    assert broken(found) == set()
    assert {"broker.login.runner", "broker.rights.runner", "objects.rights.runner"} <= found.keys()
    assert not [name for name in found if name.endswith("operator")]
    assert "none of" in found["broker.rights.runner"]["detail"]


def test_people_are_told_what_is_broken_first(well: Installation) -> None:
    environ = {**well.environ, "FIRETRIAL_S3_SECRET_KEY": "secret-of-nobody", "NO_COLOR": "1"}
    result = CliRunner(env=environ).invoke(doctor, ["--only", "objects"])
    assert result.exit_code == 1
    first, cure, *_ = result.output.splitlines()
    assert first.startswith("fail  objects.login.operator")
    assert "→ set FIRETRIAL_OPERATOR_S3_ACCESS_KEY" in cure
    assert "secret-of-nobody" not in result.output
