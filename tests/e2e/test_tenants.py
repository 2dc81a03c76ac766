"""Two tenants on four processes that speak TLS alone: each sees its own, and nobody sees more than that."""

from __future__ import annotations

import asyncio
import importlib
import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from firetrial.access.v1 import access_pb2
from firetrial.plan.v1.plan_pb2 import Slip
from firetrial.runner.v1.runner_service_pb2 import LOG_FORMAT_CONCLUSION, ImportedRun
from firetrial_client import AsyncFiretrial, FiretrialError, Reason, make_judge, make_plan
from firetrial_kit import auth, tenants, tokens
from firetrial_kit.s3 import S3Objects
from firetrial_kit.tokens import Scope
from support import pki, servers
from support.agents import register
from support.cluster import SERVICES, Cluster

pytestmark = [
    pytest.mark.needs("nats-server", "weed", "bwrap", "openssl"),
    pytest.mark.timeout(300),
]

OK = grpc.StatusCode.OK
HOLDERS = {
    "acme": ("acme", "submit read"),
    "acme-reads": ("acme", "read"),
    "acme-submits": ("acme", "submit"),
    "umbra": ("umbra", "submit read"),
    "ops": ("local", "operate"),
    "services": ("local", "service"),
}
PROPOSAL = {
    "hypothesis": "Merge sort is faster than insertion sort on large arrays.",
    "abstract": "We compare two sorting methods by the size of the array.",
    "experiments": [{"goal": "Time both methods on arrays of 4 to 4096 integers."}],
}
TOKENS = {name: tokens.new_token() for name in HOLDERS}


@dataclass(frozen=True, slots=True)
class Place:
    cluster: Cluster
    ca: Path

    def client(self, name: str = "") -> AsyncFiretrial:
        token = {"FIRETRIAL_TOKEN": TOKENS[name]} if name else {}
        return AsyncFiretrial(
            self.cluster.endpoints, environ={"FIRETRIAL_TLS_CA": str(self.ca), **token}, patience=5
        )

    def channel(self, service: str) -> grpc.aio.Channel:
        credentials = grpc.ssl_channel_credentials(self.ca.read_bytes())
        return grpc.aio.secure_channel(f"127.0.0.1:{self.cluster.ports[service]}", credentials)


def tokens_file(path: Path) -> None:
    entries = [
        {"name": name, "tenant": tenant, "scopes": scopes.split(), "sha256": tokens.hashed(TOKENS[name])}
        for name, (tenant, scopes) in HOLDERS.items()
    ]
    quotas = {"runs_at_once": 2, "runs_per_day": 50}
    told = {"tenants": {"acme": {"quotas": quotas}, "umbra": {}}, "tokens": entries}
    path.write_text(json.dumps(told))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("tenants")
    ca = pki.authority(folder)
    own = pki.signed(folder, "server", ca)
    tokens_file(folder / "tokens.json")
    (folder / "service-token").write_text(TOKENS["services"])
    ports = {service: servers.free_port() for service in SERVICES}
    environ = {
        "FIRETRIAL_TLS_CERT": str(own.cert),
        "FIRETRIAL_TLS_KEY": str(own.key),
        "FIRETRIAL_TOKENS_FILE": str(folder / "tokens.json"),
        "FIRETRIAL_SERVICE_TOKEN_FILE": str(folder / "service-token"),
        "FIRETRIAL_PARSER_JUDGE_ADDRESS": f"127.0.0.1:{ports['judge']}",
        "FIRETRIAL_PARSER_JUDGE_TLS_CA": str(ca.cert),
        "FIRETRIAL_JUDGE_ANALYZER_TLS_CA": str(ca.cert),
        "FIRETRIAL_LOG_LEVEL": "debug",
    }
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with servers.nats_server(folder / "nats") as nats_url:
        cluster = Cluster(folder, nats_url, s3_server, environ, ports=ports)
        try:
            cluster.start(*SERVICES)
            yield Place(cluster, ca.cert)
        finally:
            for process in cluster.processes.values():
                process.send_signal(signal.SIGTERM)
            for process in cluster.processes.values():
                servers.end(process)


@dataclass(frozen=True, slots=True)
class Made:
    """What a tenant has, by kind."""

    ids: dict[str, list[str]]


async def work(place: Place, name: str, study: Path) -> Made:
    """Everything that a tenant does: the same paper, agent, plan and request id as any other."""
    async with place.client(name) as client:
        agent = await register(client, "right")
        plan = make_plan([agent], repeats=2, judge="offline")
        submitted = await client.submit_paper(study, plan=plan, request_id="nightly")
        experiment = submitted.experiment_id
        async for report in client.watch_report(experiment, timeout=100, appear=60):
            assert not report.failure
        async for _ in client.watch_runs(experiment, timeout=30):
            pass
        runs = [run async for run in client.list_runs(experiment)]
        assert len(runs) == 2
        paper = await client.get_paper(submitted.paper.id)
        proposal = await client.submit_proposal(PROPOSAL)
        judgements = [(await client.get_judgement(run_id=run.id)).id for run in runs]
        return Made(
            {
                "agent": [agent],
                "paper": [paper.id],
                "task": list(paper.task_ids),
                "experiment": [experiment],
                "run": [run.id for run in runs],
                "proposal": [proposal.id],
                "judgement": judgements,
            }
        )


@pytest.fixture(scope="module")
def both(place: Place, study: Path) -> dict[str, Made]:
    async def at_once() -> list[Made]:
        return await asyncio.gather(*(work(place, name, study) for name in ("acme", "umbra")))

    return dict(zip(("acme", "umbra"), asyncio.run(at_once()), strict=True))


def everything(made: Made) -> set[str]:
    return {id_ for ids in made.ids.values() for id_ in ids}


async def test_the_same_work_of_two_tenants_has_nothing_in_common(both: dict[str, Made]) -> None:
    for name, made in both.items():
        assert {tenants.of(id_) for id_ in everything(made)} == {name}
    for kind, ids in both["acme"].ids.items():
        bare = [sorted(map(tenants.bare, each.ids[kind])) for each in both.values()]
        assert len(ids) == len(bare[1])
        if kind in {
            "agent",
            "paper",
            "task",
            "proposal",
        }:  # by their content, the same but for whose they are
            assert bare[0] == bare[1]


async def test_lists_hold_ones_own(place: Place, both: dict[str, Made]) -> None:
    for name in ("acme", "umbra"):
        async with place.client(name) as client:
            assert {one.id async for one in client.list_papers()} == set(both[name].ids["paper"])
            assert {one.id async for one in client.list_tasks()} == set(both[name].ids["task"])
            assert {one.id async for one in client.list_agents()} == set(both[name].ids["agent"])
            assert {one.id async for one in client.list_experiments()} == set(both[name].ids["experiment"])
            assert {one.id async for one in client.list_runs()} == set(both[name].ids["run"])
            assert {one.id async for one in client.list_proposals()} == set(both[name].ids["proposal"])
    async with place.client("ops") as client:
        assert {one.id async for one in client.list_runs()} == {
            id_ for made in both.values() for id_ in made.ids["run"]
        }


async def test_who_operates_sees_all(place: Place, both: dict[str, Made]) -> None:
    async with place.client("ops") as client:
        for made in both.values():
            run = made.ids["run"][0]
            assert (await client.get_run(run)).id == run
            assert await client.conclusion(run)
            assert json.loads(await client.render_report(made.ids["experiment"][0], "json"))


# Methods by which the owner does get something, with one of these ids.
FOUND = {
    "GetPaper", "GetTree", "GetTask", "GetProposal", "ListCandidates", "GetAgent", "GetExperiment", "GetRun",
    "ListRuns", "WatchRuns", "StreamTrajectory", "ListSteps", "GetRunFile",
    "GetJudgement", "GetReport", "WatchReport",
    "RenderReport", "RenderRun", "WatchExperiment", "GetAnalysis", "GetAttribution", "GetProcessMetrics",
}  # fmt: skip
METHODS = [
    method
    for service in SERVICES
    for found in importlib.import_module(
        f"firetrial.{service}.v1.{service}_service_pb2"
    ).DESCRIPTOR.services_by_name.values()
    for method in found.methods
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
async def test_no_call_tells_of_what_is_anothers(
    place: Place, both: dict[str, Made], method: MethodDescriptor
) -> None:
    """Each method, with each id of another tenant in each field that takes one."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    if auth.rule_of(path).scopes <= {Scope.SERVICE, Scope.OPERATE}:
        return
    theirs = sorted(everything(both["acme"]))
    asked = [request for id_ in theirs for request in requests(method.input_type, id_)]
    async with place.channel(method.full_name.split(".")[1]) as channel:
        if method.name in FOUND:
            own = [answered(channel, path, method, request, "acme") for request in asked]
            assert any(answers and code is OK for _, code, answers in await asyncio.gather(*own))
        calls = [answered(channel, path, method, request, "umbra") for request in asked]
        for request, code, answers in await asyncio.gather(*calls):
            told = b"".join(answer.SerializeToString() for answer in answers)
            told = told.replace(b"t-umbra--t-acme--", b"")
            assert b"t-acme--" not in told, (request, code)
            if method.name.startswith("Get") and method.name != "GetAgreement":
                assert code in {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT}, request


def requests(type_: Descriptor, id_: str) -> Iterator[Message]:
    """A request for each way to say `id_` in one."""
    for place_ in fields(type_, ()):
        request = GetMessageClass(type_)()
        at: Any = request
        for field in place_[:-1]:
            at = getattr(at, field.name).add() if field.is_repeated else getattr(at, field.name)
        if place_[-1].is_repeated:
            getattr(at, place_[-1].name).append(id_)
        else:
            setattr(at, place_[-1].name, id_)
        for name in {"format", "file"}.intersection(type_.fields_by_name):
            setattr(request, name, 1)
        yield request


def fields(type_: Descriptor, above: tuple[FieldDescriptor, ...]) -> Iterator[tuple[FieldDescriptor, ...]]:
    for field in type_.fields:
        inner = field.message_type
        if inner is not None and not inner.GetOptions().map_entry and len(above) < 4:
            yield from fields(inner, (*above, field))
        elif inner is None and field.GetOptions().Extensions[access_pb2.owned]:
            yield (*above, field)


async def answered(
    channel: grpc.aio.Channel, path: str, method: MethodDescriptor, request: Message, name: str
) -> tuple[Message, grpc.StatusCode, list[Message]]:
    """What is answered within a second: a watch may wait for what never comes."""
    codecs = {
        "request_serializer": lambda message: message.SerializeToString(),
        "response_deserializer": GetMessageClass(method.output_type).FromString,
    }
    told: dict[str, Any] = {"metadata": (("authorization", f"Bearer {TOKENS[name]}"),), "timeout": 1}
    found: list[Message] = []
    try:
        if method.server_streaming:
            async for answer in channel.unary_stream(path, **codecs)(request, **told):
                found.append(answer)  # noqa: PERF401 - what came before an error counts too
        elif method.client_streaming:
            found.append(await channel.stream_unary(path, **codecs)(iter([request]), **told))
        else:
            found.append(await channel.unary_unary(path, **codecs)(request, **told))
    except grpc.aio.AioRpcError as error:
        return request, error.code(), found
    return request, OK, found


async def test_whatever_else_a_tenant_does_is_its_own(place: Place, both: dict[str, Made]) -> None:
    """Judged again, frozen, imported, screened: ids that the client makes up become the tenant's as well."""
    task, run = both["acme"].ids["task"][0], both["acme"].ids["run"][0]
    plan = make_plan(["codex-gpt@elsewhere"], model="gpt", judge="offline", release="v1")
    slip = Slip(experiment_id="mine-1", expected_runs=1, plan=plan)
    header = ImportedRun(
        task_id=tenants.bare(task), agent="codex", model="gpt", repeat=1, format=LOG_FORMAT_CONCLUSION
    )
    async with place.client("acme") as client:
        again = await client.judge_run(run, config=make_judge("offline"))
        release = await client.create_release("v1", [task], judge=make_judge("offline"), repeats=1)
        assert (await client.get_release("v1")).name == release.name == "t-acme--v1"
        imported = await client.import_run(b"Merge sort is faster on large arrays.", header, slip=slip)
        assert imported.agent_id == "t-acme--codex-gpt@elsewhere"
        async for report in client.watch_report("mine-1", timeout=60, appear=30):
            assert not report.failure
        ranked = json.loads(await client.leaderboard(release="v1"))
        assert ranked
        screening = await client.submit_screening(b'{"id": "1", "title": "On sorting"}\n', offline=True)
        async for _ in client.watch_screening(screening.id, timeout=30):
            pass
        reviews = [review.id async for review in client.list_reviews()]
        review = await client.get_review(reviews[0])
        assert review.review.paper_id == both["acme"].ids["paper"][0]
    found = [again.id, release.name, imported.id, imported.experiment_id, screening.id, *reviews]
    assert {tenants.of(id_) for id_ in found} == {"acme"}
    async with place.client("umbra") as client:
        assert [one.name async for one in client.list_releases()] == []
        assert [one.id async for one in client.list_screenings()] == []
        assert not set(reviews) & {one.id async for one in client.list_reviews()}
        for call in (
            client.get_release("v1"),
            client.get_release(release.name),
            client.get_screening(screening.id),
            client.get_review(reviews[0]),
            client.get_judgement(again.id),
            client.leaderboard(release=release.name),
            client.judge_run(imported.id),
            client.render_run(imported.id),
        ):
            with pytest.raises(FiretrialError) as caught:
                await call
            assert caught.value.reason == Reason.NOT_FOUND


async def test_an_agent_of_another_cannot_be_run(place: Place, both: dict[str, Made]) -> None:
    async with place.client("umbra") as client:
        plan = make_plan(both["acme"].ids["agent"], judge="offline")
        with pytest.raises(FiretrialError) as caught:
            await client.submit_experiment(both["umbra"].ids["task"], plan)
        assert caught.value.reason == Reason.INVALID
        told = caught.value.message.replace("t-umbra--t-acme--", "")
        assert "t-acme--" not in told


async def test_a_day_has_so_many_runs_and_no_more(place: Place, both: dict[str, Made]) -> None:
    async with place.client("acme") as client:
        plan = make_plan(both["acme"].ids["agent"], repeats=51, judge="offline")
        with pytest.raises(FiretrialError) as caught:
            await client.submit_experiment(both["acme"].ids["task"], plan)
    assert caught.value.reason == Reason.PRECONDITION
    assert [fault.field for fault in caught.value.faults] == ["quotas.runs_per_day"]
    assert "50, of which" in caught.value.faults[0].description
    labels = 'quota="runs_per_day",tenant="acme"'
    shown = await asyncio.to_thread(metrics, place.cluster.metrics("runner"))
    assert any(line.startswith(f"firetrial_quota_refusals_total{{{labels}}}") for line in shown)


async def test_of_fifty_at_once_as_many_runs_are_taken_as_fit_into_the_day(
    place: Place, both: dict[str, Made]
) -> None:
    """49 runs each, where 48 are left, and then 30 each: of those one fits."""
    async with place.client("acme") as client:

        async def submitted(number: int, repeats: int) -> str:
            plan = make_plan(both["acme"].ids["agent"], repeats=repeats, judge="offline", pool="nobodys")
            try:
                found = await client.submit_experiment(
                    both["acme"].ids["task"], plan, request_id=f"at-once-{repeats}-{number}"
                )
            except FiretrialError as error:
                return "" if error.reason == Reason.PRECONDITION else error.message
            return found.id

        for repeats, fit in ((49, 0), (30, 1)):
            found = await asyncio.gather(*(submitted(number, repeats) for number in range(50)))
            taken = [id_ for id_ in found if id_]
            assert len(taken) == fit
            for id_ in taken:
                await client.cancel_experiment(id_)


def metrics(address: str) -> list[str]:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return str(answer.read(), "utf-8").splitlines()


async def test_ids_may_be_said_as_they_were_without_tenants(place: Place, both: dict[str, Made]) -> None:
    async with place.client("acme") as client:
        run = both["acme"].ids["run"][0]
        assert (await client.get_run(tenants.bare(run))).id == run


@pytest.mark.parametrize(
    ("name", "may_read", "may_submit"),
    [
        ("acme", True, True),
        ("acme-reads", True, False),
        ("acme-submits", False, True),
        ("services", False, False),
    ],
)
async def test_scopes(
    place: Place, both: dict[str, Made], name: str, may_read: bool, may_submit: bool
) -> None:
    async def allowed(call: Any) -> bool:
        try:
            await call
        except FiretrialError as error:
            return error.reason != Reason.DENIED
        return True

    async with place.client(name) as client:
        assert await allowed(client.get_run(both["acme"].ids["run"][0])) == may_read
        assert await allowed(client.get_paper(both["acme"].ids["paper"][0])) == may_read
        assert await allowed(client.render_report(both["acme"].ids["experiment"][0], "json")) == may_read
        assert await allowed(client.submit_agent(name="x", command=["true"])) == may_submit
        assert await allowed(client.cancel_run(both["acme"].ids["run"][0])) == may_submit


HOSTILE = ["", "a" * 7000, "eyJhbGciOiJub25lIn0.eyJ0ZW5hbnQiOiJhY21lIn0.", "../../etc/passwd", "' or '1'='1"]


@pytest.mark.parametrize("value", HOSTILE)
async def test_strangers_get_nowhere_on_any_service(place: Place, value: str) -> None:
    for service in SERVICES:
        async with place.channel(service) as channel:
            lists = {"parser": "Papers", "runner": "Runs", "judge": "Judgements", "analyzer": "Reports"}
            path = f"/firetrial.{service}.v1.{service.title()}Service/List{lists[service]}"
            call = channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
            metadata = (("authorization", f"Bearer {value}"),) if value else ()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(b"", metadata=metadata, timeout=10)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    async with place.client("acme") as client:
        assert (await client.whoami()).tenant == "acme"


async def test_without_tls_nobody_answers(place: Place) -> None:
    async with AsyncFiretrial(place.cluster.endpoints, environ={"FIRETRIAL_TOKEN": TOKENS["acme"]}) as client:
        with pytest.raises(FiretrialError) as caught:
            await client.whoami()
    assert caught.value.reason == Reason.UNAVAILABLE


async def test_the_audit_says_who_did_what(
    place: Place, both: dict[str, Made], s3_server: servers.S3
) -> None:
    access, secret = s3_server.keys["admin"]
    environ = {
        "FIRETRIAL_NATS_URL": place.cluster.nats_url,
        "FIRETRIAL_OBJECTS_URL": s3_server.url,
        "FIRETRIAL_S3_ACCESS_KEY": access,
        "FIRETRIAL_S3_SECRET_KEY": secret,
    }
    argv = [str(servers.BIN / "firetrial"), "admin", "audit", "--since", "1h", "--json"]

    def listed(*more: str) -> list[dict[str, Any]]:
        shown = subprocess.run([*argv, *more], env=environ, capture_output=True, check=True, text=True)
        return list(json.loads(shown.stdout))

    told = await asyncio.to_thread(listed, "--tenant", "acme")
    done = [one for one in told if one["code"] == "OK" and one["principal"] == "acme"]
    methods = {one["method"].rpartition("/")[2] for one in done}
    assert methods >= {"SubmitPaper", "SubmitAgent", "SubmitProposal"}
    paper = next(one for one in done if one["method"].endswith("/SubmitPaper"))
    assert {both["acme"].ids["paper"][0], both["acme"].ids["experiment"][0]} <= set(paper["resources"])
    assert {one["tenant"] for one in told} == {"acme"}
    everything_told = json.dumps(await asyncio.to_thread(listed))
    assert not any(token in everything_told for token in TOKENS.values())


async def test_no_token_is_in_any_log(place: Place, both: dict[str, Made]) -> None:
    assert both
    for service in SERVICES:
        log = place.cluster.log(service)
        assert "serving" in log
        for token in TOKENS.values():
            assert token not in log
            assert token[4:] not in log


async def test_a_token_that_is_taken_out_is_dead_at_once(place: Place, both: dict[str, Made]) -> None:
    assert both
    path = place.cluster.folder / "tokens.json"
    whole = path.read_text()
    told = json.loads(whole)
    told["tokens"] = [one for one in told["tokens"] if one["name"] != "acme-reads"]
    path.write_text(json.dumps(told))
    try:
        async with place.client("acme-reads") as client:
            with pytest.raises(FiretrialError) as caught:
                await client.whoami()
        assert caught.value.reason == Reason.UNAUTHENTICATED
        async with place.client("acme") as client:
            assert (await client.whoami()).name == "acme"
    finally:
        path.write_text(whole)
