"""One experiment over four processes, as those see it who watch: one trace, and pages of right metrics."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nats
import pytest
from prometheus_client.parser import text_string_to_metric_families

from firetrial.judge.v1 import judge_service_pb2 as judge_pb
from firetrial.judge.v1.judge_service_pb2_grpc import JudgeServiceStub
from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit import trace
from firetrial_kit.s3 import S3Objects
from support import scripted_models as scripted
from support import servers
from support.agents import SORTING
from support.cluster import SERVICES, Cluster, cluster
from support.collector import Collector, Seen, collector
from support.scripted_models import ScriptedModels

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(240)]
SERVER, CLIENT, CONSUMER = 2, 3, 5
KEY, PROMPT = "sk-real-watching-0123456789", "a plan that nobody else is to read"
AGENT = f"""
import json, os, urllib.request
body = json.dumps({{"model": "small", "messages": [{{"role": "user", "content": "{PROMPT}"}}]}}).encode()
headers = {{"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
    said = json.load(answer)["choices"][0]["message"]["content"]
print(sorted(os.environ))
open("conclusion.md", "w").write(said)
"""


class Watched:
    """The system, what it told its collector, and the experiment that was run under `parent`."""

    def __init__(self, system: Cluster, told: Collector, models: ScriptedModels) -> None:
        self.system, self.told, self.models = system, told, models
        self.parent = trace.new_traceparent()
        self.experiment = self.agent = self.environment = ""
        self.runs: list[str] = []

    @property
    def trace(self) -> str:
        return self.parent[3:35]

    @property
    def spans(self) -> list[Seen]:
        return [span for span in self.told.spans if span.trace == self.trace]

    def page(self, service: str) -> str:
        with urllib.request.urlopen(f"http://{self.system.metrics(service)}/metrics", timeout=10) as answer:
            return str(answer.read().decode())

    def value(self, service: str, name: str, /, **labels: str) -> float:
        """The sum of the samples with these labels; labels that are not named may be anything."""
        return sum(
            sample.value
            for family in text_string_to_metric_families(self.page(service))
            for sample in family.samples
            if sample.name == f"firetrial_{name}" and labels.items() <= sample.labels.items()
        )

    async def run(self, study: Path) -> None:
        async with AsyncFiretrial(self.system.endpoints, traceparent=self.parent) as client:
            agent = await client.submit_agent(
                name="asks", command=["python3", "/agent/agent.py"], files={"agent.py": AGENT.encode()}
            )
            self.agent = agent.id
            plan = make_plan([agent.id], repeats=2, judge="offline", model="small")
            self.experiment = (await client.submit_paper(study, plan=plan)).experiment_id
            async for report in client.watch_report(self.experiment, timeout=120, appear=60):
                assert not report.failure, report.failure
            async for _ in client.watch_runs(self.experiment, timeout=30):
                pass
            self.runs = [run.id async for run in client.list_runs(self.experiment)]
            steps = [step["text"] async for step in client.trajectory(self.runs[0])]
            self.environment = next(text for text in steps if "FIRETRIAL_MODEL" in text)
            stub = JudgeServiceStub(client._channels.of("judge"))
            await stub.GetJudgement(judge_pb.GetJudgementRequest(run_id=self.runs[0]), timeout=10)


@pytest.fixture(scope="module")
def watched(
    tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3, study: Path
) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with (
        ScriptedModels(lambda _: scripted.text(SORTING["right"])) as models,
        collector() as told,
        servers.nats_server(folder / "nats") as nats_url,
    ):
        gateway = folder / "gateway.toml"
        gateway.write_text(
            f'[upstreams.scripted]\nurl = "{models.base_url}"\ndialect = "openai"\nmodels = ["small"]\n'
            'key_env = "THE_REAL_KEY"\n[prices.small]\nprompt = 1\ncompletion = 10\n'
        )
        runner = {"FIRETRIAL_RUNNER_GATEWAY": str(gateway), "THE_REAL_KEY": KEY}
        otel = {"OTEL_EXPORTER_OTLP_ENDPOINT": told.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with cluster(folder, nats_url, s3_server, runner, **otel) as system:
            found = Watched(system, told, models)
            asyncio.run(found.run(study))
            names = {f"process {name}" for name in ("runner-run_judged", "analyzer-run_judged")}
            servers.wait_for(lambda: names <= {span.name for span in found.spans}, "the spans", 20)
            time.sleep(0.5)
            yield found


def test_one_trace_goes_from_the_submission_to_the_report(watched: Watched) -> None:
    assert {span.service for span in watched.spans} == {f"firetrial-{name}" for name in SERVICES}
    of_runs = [
        span
        for span in watched.told.spans
        if str(span.attributes.get("messaging.message.id", "")).partition(":")[0] in watched.runs
    ]
    assert len(of_runs) >= 10
    assert {span.trace for span in of_runs} == {watched.trace}

    async def reported() -> str:
        client = await nats.connect(watched.system.nats_url)
        subject = f"ft.evt.analyzer.v1.experiment_reported.{watched.experiment}"
        message = await client.jetstream().get_last_msg("FT_EVT", subject)
        await client.close()
        return str((message.headers or {})["traceparent"])

    told = asyncio.run(reported())
    assert told[3:35] == watched.trace
    assert told[36:52] in {span.id for span in watched.spans}


def test_every_span_has_its_parent(watched: Watched) -> None:
    """Only the client's own spans are told by nobody: those above the RPCs."""
    by_id = {span.id: span for span in watched.spans}
    orphans = [span for span in watched.spans if span.parent not in by_id]
    assert {span.kind for span in orphans} == {SERVER}
    for run_id in watched.runs:
        judged = next(
            span
            for span in watched.spans
            if span.name == "process analyzer-run_judged"
            and span.attributes["messaging.message.id"] == f"{run_id}:run_judged:1"
        )
        path = [judged.name]
        while (judged := by_id.get(judged.parent)) is not None:  # type: ignore[assignment]
            path.append(judged.name)
        assert path == [
            "process analyzer-run_judged",
            "process judge-run_finished",
            "process runner-default",
            "process runner-task_created",
            "process parser-paper_parsed",
            "process parser-paper_submitted",
            "firetrial.parser.v1.ParserService/SubmitPaper",
        ]


def test_a_call_of_a_model_is_a_span_of_its_run_without_a_word_of_it(watched: Watched) -> None:
    by_id = {span.id: span for span in watched.spans}
    calls = [span for span in watched.spans if span.name == "chat/completions"]
    assert len(calls) == len(watched.runs) == 2
    for call in calls:
        above = by_id[call.parent]
        assert (call.kind, above.name) == (CLIENT, "run agent")
        assert above.attributes["firetrial.run_id"] in watched.runs
        assert above.began <= call.began <= call.ended <= above.ended
        told = call.attributes
        assert (told["gen_ai.request.model"], told["gen_ai.provider.name"]) == ("small", "scripted")
        assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (100, 10)
    for secret in (PROMPT, SORTING["right"], KEY, watched.system.s3.keys["runner"][1]):
        assert not any(secret.encode() in body for body in watched.told.bodies), secret


def test_neither_a_sandbox_nor_a_model_is_told_the_trace(watched: Watched) -> None:
    assert "TRACE" not in watched.environment.upper()
    assert watched.models.requests
    assert not any("traceparent" in request.headers for request in watched.models.requests)


@pytest.mark.needs("promtool")
@pytest.mark.parametrize("service", SERVICES)
def test_a_page_is_as_prometheus_wants_it(watched: Watched, service: str) -> None:
    page = watched.page(service).encode()
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True)
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (0, "", "")


def test_what_happened_is_what_was_counted(watched: Watched) -> None:
    value = watched.value
    assert value("analyzer", "run_outcomes_total") == 2
    by = {"pool": "default", "outcome": "scored", "agent": watched.agent, "model": "small"}
    assert value("analyzer", "run_outcomes_total", **by) == 2
    assert value("runner", "gateway_requests_total", model="small", status="200") == 2
    assert value("runner", "run_store_seconds_count", pool="default") == 2
    assert value("runner", "runner_slots", pool="default") == 2
    assert value("judge", "judge_seconds_count", backend="offline") == 2
    assert value("judge", "object_store_seconds_count", operation="get", bucket="truth", result="ok") > 0
    assert value("runner", "object_store_seconds_count", bucket="truth") == 0
    assert value("analyzer", "analysis_seconds_count") == 2
    assert value("analyzer", "broker_up") == 1
    assert value("analyzer", "consumer_pending", consumer="judge-run_finished") == 0
    # The broker is asked every few seconds.
    servers.wait_for(
        lambda: value("analyzer", "stream_messages", stream="FT_EVT") > 8, "the broker's figures"
    )
    for service in SERVICES:
        assert value(service, "build_info", service=service) == 1
        assert value(service, "object_store_refusals_total") == 0
        assert value(service, "trace_spans_total", result="exported") > 0
    assert value("runner", "disk_free_bytes", service="runner", path="work") > 0


def test_no_page_tells_a_run(watched: Watched) -> None:
    for service in SERVICES:
        page = watched.page(service)
        assert not [run for run in watched.runs if run in page]
        assert watched.experiment not in page
        assert json.dumps(KEY) not in page
