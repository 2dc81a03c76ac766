"""The frame that every service runs in, on a real nats-server: health, reflection, errors, metrics, drain."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
import structlog
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from firetrial.judge.v1 import judge_service_pb2, judge_service_pb2_grpc
from firetrial_kit import events
from firetrial_kit.bus import Outgoing
from firetrial_kit.jetstream import JetStreamBus, connect
from support import servers

pytestmark = pytest.mark.needs("nats-server")

# A service as small as one can be: ScoreText does as its input says, one consumer sleeps and leaves a file.
SERVICE = """
    import asyncio, os, pathlib
    from firetrial.judge.v1 import judge_service_pb2 as pb, judge_service_pb2_grpc as rpc
    from firetrial_kit import events, service
    from firetrial_kit.bus import Consumer
    from firetrial_kit.errors import Fault, invalid

    class Servicer(rpc.JudgeServiceServicer):
        async def ScoreText(self, request, context):
            if request.conclusion == "bad":
                raise invalid("the text", [Fault("conclusion", "bad", "must be good")])
            if request.conclusion == "bug":
                raise ZeroDivisionError("secret detail")
            if request.conclusion == "slow":
                await asyncio.sleep(30)
            return pb.ScoreTextResponse()
        async def GetJudgement(self, request, context): ...
        async def ListJudgements(self, request, context): ...

    async def handle(message):
        pathlib.Path(os.environ["MARK"] + ".begun").touch()
        await asyncio.sleep(1)
        pathlib.Path(os.environ["MARK"]).touch()

    async def fail(message, error): ...

    async def build(parts):
        consumer = Consumer("frame-test", events.EVENTS, (events.subject("frame", "ping"),), handle, fail)
        add, name = rpc.add_JudgeServiceServicer_to_server, "firetrial.judge.v1.JudgeService"
        return service.Service("judge", lambda server: server.add(name, add, Servicer()), [consumer])

    service.main({"judge": build}, os.environ)
"""


@dataclass(frozen=True, slots=True)
class Frame:
    process: subprocess.Popen[bytes]
    told: dict[str, str]
    mark: Path
    log: Path


@pytest.fixture
def frame(nats_url: str, tmp_path: Path) -> Iterator[Frame]:
    script, ports, mark, log = (tmp_path / name for name in ("frame.py", "ports.json", "mark", "log"))
    script.write_text(textwrap.dedent(SERVICE))
    environ = {
        **os.environ,
        "FIRETRIAL_NATS_URL": nats_url,
        "FIRETRIAL_OBJECTS_URL": f"file://{tmp_path}/objects",
        "FIRETRIAL_PORTS_FILE": str(ports),
        "MARK": str(mark),
    }
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, str(script)], env=environ, stderr=out)
        servers.wait_for(ports.exists, "the service")
        yield Frame(process, json.loads(ports.read_text()), mark, log)
        servers.end(process)


def healthz(frame: Frame) -> int:
    """The status that probes are answered with."""
    try:
        with urllib.request.urlopen(f"http://{frame.told['metrics']}/healthz", timeout=5) as page:
            return int(page.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


async def test_health_reflection_and_metrics(frame: Frame) -> None:
    async with grpc.aio.insecure_channel(frame.told["rpc"]) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", "firetrial.judge.v1.JudgeService"):
            answer = await health.Check(health_pb2.HealthCheckRequest(service=name), timeout=5)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        async for answer in reflection.ServerReflectionInfo(asked, timeout=5):
            names = [service.name for service in answer.list_services_response.service]
            assert "firetrial.judge.v1.JudgeService" in names
        stub = judge_service_pb2_grpc.JudgeServiceStub(channel)
        await stub.ScoreText(judge_service_pb2.ScoreTextRequest(), timeout=5)
    assert healthz(frame) == 200
    with urllib.request.urlopen(f"http://{frame.told['metrics']}/metrics") as page:  # noqa: ASYNC210
        text = page.read().decode()
    assert (
        'firetrial_rpc_seconds_count{code="OK",method="/firetrial.judge.v1.JudgeService/ScoreText"} 1.0'
        in text
    )


async def test_an_error_says_reason_and_field_and_a_bug_says_nothing_inside(frame: Frame) -> None:
    async with grpc.aio.insecure_channel(frame.told["rpc"]) as channel:
        stub = judge_service_pb2_grpc.JudgeServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.ScoreText(judge_service_pb2.ScoreTextRequest(conclusion="bad"), timeout=5)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        status = rpc_status.from_call(caught.value)  # type: ignore[arg-type]
        bad = error_details_pb2.BadRequest()
        assert status.details[1].Unpack(bad)
        assert bad.field_violations[0].field == "conclusion"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.ScoreText(judge_service_pb2.ScoreTextRequest(conclusion="bug"), timeout=5)
        assert caught.value.code() is grpc.StatusCode.INTERNAL
        assert "secret detail" not in (caught.value.details() or "")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.ScoreText(judge_service_pb2.ScoreTextRequest(conclusion="slow"), timeout=0.5)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "secret detail" in frame.log.read_text()


async def test_sigterm_ends_what_is_in_hand_and_exits_0(frame: Frame, nats_url: str) -> None:
    client = await connect(nats_url, name="test")
    bus = JetStreamBus(client, structlog.get_logger())
    key = str(frame.process.pid)
    await bus.publish(Outgoing(events.subject("frame", "ping", key), b"", f"{key}:ping:1"))
    begun = frame.mark.with_name("mark.begun")
    async with asyncio.timeout(10):
        while not begun.exists():
            await asyncio.sleep(0.01)
    frame.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(10):
        while healthz(frame) != 503:
            await asyncio.sleep(0.01)
    assert await asyncio.to_thread(frame.process.wait, 15) == 0
    assert frame.mark.exists()
    await client.close()


def test_whoever_is_told_to_end_again_and_again_ends_in_good_order(frame: Frame) -> None:
    while frame.process.poll() is None:
        frame.process.send_signal(signal.SIGTERM)
        time.sleep(0.001)
    assert frame.process.returncode == 0
    assert "stopped" in frame.log.read_text()


def test_bad_settings_are_listed_and_exit_2(tmp_path: Path) -> None:
    environ = {**os.environ, "FIRETRIAL_ACK_WAIT": "x", "FIRETRIAL_OBJECTS_URL": "nowhere"}
    script = tmp_path / "frame.py"
    script.write_text(textwrap.dedent(SERVICE))
    ended = subprocess.run([sys.executable, str(script)], env=environ, capture_output=True, timeout=30)
    assert ended.returncode == 2
    assert b"FIRETRIAL_ACK_WAIT" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_no_broker_is_one_clear_line_and_exit_1(tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "FIRETRIAL_NATS_URL": "nats://127.0.0.1:9",
        "FIRETRIAL_OBJECTS_URL": f"file://{tmp_path}",
    }
    script = tmp_path / "frame.py"
    script.write_text(textwrap.dedent(SERVICE))
    ended = subprocess.run([sys.executable, str(script)], env=environ, capture_output=True, timeout=60)
    assert ended.returncode == 1
    assert b"no NATS server answers at nats://127.0.0.1:9" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_a_crash_leaves_no_memory_on_a_disk(frame: Frame) -> None:
    assert resource.prlimit(frame.process.pid, resource.RLIMIT_CORE) == (0, 0)
