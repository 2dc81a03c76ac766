"""Spans on the wire: told to a collector that is there, and no burden where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import structlog
from prometheus_client import CollectorRegistry

from firetrial_kit import telemetry, trace
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.settings import SettingsError
from firetrial_kit.trace import Kind
from support import scripted_models as scripted
from support.collector import Collector, collector
from support.gateways import gateway, upstream
from support.scripted_models import ScriptedModels
from support.servers import free_port

LOG = structlog.get_logger()


@pytest.fixture
def otel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector that the environment names."""
    with collector() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        yield found


def exported(registry: CollectorRegistry, result: str) -> float | None:
    return registry.get_sample_value("firetrial_trace_spans_total", {"result": result})


def test_spans_have_their_parents_names_and_what_became_of_them(
    otel: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "lab-runner")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20not-to-be-told")
    registry, parent = CollectorRegistry(), trace.new_traceparent()
    with (
        telemetry.exporting(os.environ, "runner", registry, LOG),
        trace.bound(parent),
        trace.span("take", Kind.CONSUMER, {"firetrial.delivered": 2}),
    ):
        with pytest.raises(FiretrialError), trace.span("put", Kind.CLIENT):
            raise FiretrialError(Reason.UNAVAILABLE, "https://user:hunter2@store is away")
        told = trace.current()
    spans = {span.name: span for span in otel.spans}
    take, put = spans["take"], spans["put"]
    assert (take.trace, take.parent) == (parent[3:35], parent[36:52])
    assert (put.trace, put.parent) == (parent[3:35], take.id)
    assert told == f"00-{take.trace}-{take.id}-01"
    assert (take.service, take.kind, take.attributes) == ("lab-runner", 5, {"firetrial.delivered": 2})
    assert (put.failed, put.attributes) == (True, {"error.type": "UNAVAILABLE"})
    assert not take.failed
    assert take.began <= put.began <= put.ended <= take.ended
    assert not any(b"hunter2" in body or b"not-to-be-told" in body for body in otel.bodies)
    assert otel.headers[0]["authorization"] == "Bearer not-to-be-told"
    assert exported(registry, "exported") == 2
    assert trace.current() != told, "what comes after is not of this trace"


def test_a_caller_that_samples_nothing_out_is_heeded(otel: Collector) -> None:
    unsampled = trace.new_traceparent()[:-2] + "00"
    with telemetry.exporting(os.environ, "judge", CollectorRegistry(), LOG):
        with trace.bound(unsampled), trace.span("quiet"):
            assert trace.current()[3:35] == unsampled[3:35]
            assert trace.current().endswith("-00")
        with trace.bound(trace.new_traceparent()), trace.span("told"):
            pass
    assert [span.name for span in otel.spans] == ["told"]
    assert otel.spans[0].service == "firetrial-judge"


async def test_a_call_of_a_model_tells_no_word_that_an_agent_chose(otel: Collector) -> None:
    exporting = telemetry.exporting(os.environ, "runner", CollectorRegistry(), LOG)
    with ScriptedModels([scripted.text("yes")]) as models, exporting:
        async with gateway(upstream(models.base_url)) as rig:
            for model in ("small", "gpt-tell-them-hunter2", "tell-them-hunter2"):
                await rig.chat("hunter2", model=model)
            await rig.settled()
    calls = [span for span in otel.spans if span.name == "chat/completions"]
    assert [span.attributes.get("gen_ai.request.model") for span in calls] == ["small", "gpt-*", None]
    assert [span.attributes.get("error.type") for span in calls] == [None, None, "refused"]
    assert not any(b"hunter2" in body for body in otel.bodies)


@pytest.mark.parametrize("where", ["hangs", "away"])
def test_a_collector_that_does_not_answer_holds_nothing_up(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collector(hang=True) as hanging:
        url = hanging.url if where == "hangs" else f"http://127.0.0.1:{free_port()}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        began = time.monotonic()
        with telemetry.exporting(os.environ, "judge", CollectorRegistry(), LOG):
            for _ in range(5_000):  # more than the queue holds
                with trace.span("work"):
                    pass
            worked = time.monotonic() - began
            time.sleep(0.2)
            ending = time.monotonic()
        ended = time.monotonic() - ending
    # One batch alone is waited for 10 s, and there are ten of them.
    assert worked < 10.0
    assert ended < telemetry.LAST_S + 5.0


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "True"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
    ],
)
def test_the_environment_decides(environ: dict[str, str], wanted: bool) -> None:
    assert telemetry.is_wanted(environ) is wanted


def test_a_protocol_that_is_not_spoken_is_named() -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    with pytest.raises(SettingsError, match=r"OTEL_EXPORTER_OTLP_PROTOCOL: only http/protobuf .*'grpc'"):
        telemetry.is_wanted(environ)


def test_without_an_endpoint_nothing_of_it_is_loaded() -> None:
    program = (
        "import sys, structlog, prometheus_client as p\n"
        "from firetrial_kit import service, telemetry, trace\n"
        "with telemetry.exporting({}, 'judge', p.CollectorRegistry(), structlog.get_logger()):\n"
        "    with trace.span('work'): pass\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
