"""The broker's deployed configuration: each user may do what its service does, and nothing else."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import permutations
from pathlib import Path

import nats
import pytest
import structlog
from google.protobuf.message import DecodeError
from nats.aio.client import Client
from nats.errors import Error
from nats.js.errors import NotFoundError

from firetrial.analyzer.v1 import events_pb2 as analyzer_events
from firetrial.audit.v1 import events_pb2 as audit_events
from firetrial.event.v1 import event_pb2
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.parser.v1 import events_pb2 as parser_events
from firetrial.runner.v1 import events_pb2 as runner_events
from firetrial.runner.v1 import run_pb2
from firetrial_kit import jetstream
from support import deployed, servers, tls
from support.deployed import Broker

pytestmark = pytest.mark.needs("nats-server", "openssl")
SERVICES = ("parser", "runner", "judge", "analyzer")
HELD = (*SERVICES, "watcher", "webhooks")
USERS = (*HELD, "operator")
MODULES = (parser_events, runner_events, judge_events, analyzer_events, audit_events)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with deployed.broker(tmp_path_factory.mktemp("broker")) as found:
        yield found


class Attempts:
    """One user's connection, and what the broker said of it."""

    def __init__(self, client: Client, errors: list[str]) -> None:
        self.client, self._errors = client, errors

    async def refused(self) -> str:
        """What was refused since the last time, or ""."""
        await self.client.flush()
        await asyncio.sleep(0.02)
        found = " ".join(self._errors).lower()
        self._errors.clear()
        assert not found or "permissions violation" in found
        return found

    async def publish(self, subject: str, data: bytes = b"{}", reply: str = "") -> str:
        await self.client.publish(subject, data, reply=reply)
        return await self.refused()

    async def subscribe(self, subject: str) -> str:
        following = await self.client.subscribe(subject)
        found = await self.refused()
        if not found:
            await following.unsubscribe()
        return found


@asynccontextmanager
async def known_as(user: str, broker: Broker) -> AsyncIterator[Attempts]:
    errors: list[str] = []

    async def error(fault: Exception) -> None:
        errors.append(str(fault))

    client = await nats.connect(
        broker.url,
        user=user,
        password=broker.password(user),
        inbox_prefix=f"_INBOX_{user}",
        tls=jetstream.authorities(broker.authority),
        error_cb=error,
        allow_reconnect=False,
    )
    try:
        yield Attempts(client, errors)
    finally:
        await client.close()


async def test_each_service_tells_what_its_contract_says_and_nothing_else(broker: Broker) -> None:
    subjects: dict[str, set[str]] = {}
    for module in MODULES:
        for message in module.DESCRIPTOR.message_types_by_name.values():
            told = message.GetOptions().Extensions
            fact, work = told[event_pb2.fact], told[event_pb2.work]
            if fact.name:
                for teller in SERVICES if "*" in fact.services else fact.services:
                    subjects.setdefault(f"ft.evt.{teller}.v1.{fact.name}.x", set()).add(teller)
            if work.kind:
                subjects.setdefault(f"ft.work.{work.kind}.nobodys", set()).update(work.services)
    assert len(subjects) > 25
    for user in HELD:
        async with known_as(user, broker) as one:
            for subject, tellers in subjects.items():
                refused = await one.publish(subject, b"")
                assert bool(refused) == (user not in tellers), (user, subject)


API = "$JS.API"
REFUSED = [
    # Work is the runners', and a facts' consumer is the service's that it is named for.
    ("parser", f"{API}.CONSUMER.MSG.NEXT.FT_WORK.runner-default"),
    ("judge", f"{API}.CONSUMER.MSG.NEXT.FT_WORK.runner-default"),
    ("parser", f"{API}.CONSUMER.CREATE.FT_WORK.parser.ft.work.run.default"),
    ("runner", f"{API}.CONSUMER.MSG.NEXT.FT_EVT.judge-run_finished"),
    ("runner", f"{API}.CONSUMER.CREATE.FT_EVT.runner-run_finished.ft.evt.runner.v1.run_finished.*"),
    ("runner", f"{API}.CONSUMER.CREATE.FT_EVT.runner-task_created.ft.evt.>"),
    ("runner", f"{API}.CONSUMER.CREATE.FT_EVT.runner-task_created"),
    ("runner", f"{API}.CONSUMER.CREATE.FT_EVT"),
    ("runner", f"{API}.CONSUMER.DURABLE.CREATE.FT_EVT.runner-task_created"),
    ("runner", f"{API}.STREAM.MSG.GET.FT_EVT"),
    ("runner", f"{API}.DIRECT.GET.FT_EVT"),
    ("runner", f"{API}.DIRECT.GET.KV_ft_runner.$KV.ft_runner.x"),
    ("runner", "$JS.ACK.FT_EVT.judge-run_finished.1.1.1.1.0"),
    # State is each one's own.
    *((user, f"{API}.STREAM.MSG.GET.KV_ft_{other}") for user, other in permutations(SERVICES, 2)),
    *((user, f"$KV.ft_{other}.run.x") for user, other in permutations(SERVICES, 2)),
    ("runner", f"{API}.CONSUMER.CREATE.KV_ft_judge"),
    ("runner", f"{API}.STREAM.INFO.KV_ft_judge"),
    # Nothing is made, changed or emptied but by the operator.
    *(
        (user, f"{API}.STREAM.{verb}.{stream}")
        for user in HELD
        for verb in ("CREATE", "UPDATE", "DELETE", "PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE")
        for stream in ("FT_EVT", "FT_WORK", "FT_DEAD", f"KV_ft_{user}")
    ),
    *((user, f"{API}.CONSUMER.DELETE.FT_EVT.{user}-run_judged") for user in HELD),
    # Dead letters are written under the names of one's own consumers, and read by the operator.
    ("parser", "ft.dead.judge-run_finished"),
    ("judge", f"{API}.STREAM.MSG.GET.FT_DEAD"),
    # Who looks on changes nothing.
    ("watcher", "ft.evt.runner.v1.run_finished.x"),
    ("watcher", "ft.work.run.default"),
    ("watcher", "$KV.ft_runner.x"),
    ("watcher", f"{API}.CONSUMER.CREATE.FT_EVT"),
    ("watcher", f"{API}.CONSUMER.CREATE.FT_WORK.watcher.ft.work.>"),
    ("watcher", f"{API}.CONSUMER.MSG.NEXT.FT_WORK.runner-default"),
    ("watcher", f"{API}.STREAM.MSG.GET.FT_EVT"),
    # Who tells others has the consumers of its endpoints, and nobody else's.
    ("webhooks", f"{API}.CONSUMER.CREATE.FT_EVT"),
    ("webhooks", f"{API}.CONSUMER.CREATE.FT_EVT.webhook-other.ft.evt.>"),
    ("webhooks", f"{API}.CONSUMER.CREATE.FT_EVT.parser-paper_parsed.ft.evt.parser.v1.paper_parsed.*"),
    ("webhooks", f"{API}.CONSUMER.MSG.NEXT.FT_EVT.parser-paper_parsed"),
    ("webhooks", "$JS.ACK.FT_EVT.parser-paper_parsed.1.1.1.1.0"),
    ("webhooks", f"{API}.CONSUMER.DELETE.FT_EVT.webhook-lab"),
    ("webhooks", f"{API}.CONSUMER.CREATE.FT_WORK.webhook-lab.ft.work.>"),
    ("webhooks", f"{API}.STREAM.MSG.GET.FT_EVT"),
    ("webhooks", f"{API}.STREAM.MSG.GET.FT_DEAD"),
    ("webhooks", f"{API}.CONSUMER.CREATE.FT_DEAD.webhook-lab.ft.dead.webhook-lab"),
    ("webhooks", "ft.dead.webhook-other"),
    ("webhooks", "ft.dead.judge-run_finished"),
    ("webhooks", "$KV.ft_runner.x"),
]  # fmt: skip


async def test_what_is_nobodys_business_is_refused(broker: Broker) -> None:
    for user in HELD:
        async with known_as(user, broker) as one:
            for subject in [subject for who, subject in REFUSED if who == user]:
                assert subject.lower() in await one.publish(subject), (user, subject)


async def test_nobody_listens_to_another(broker: Broker) -> None:
    for user in USERS:
        async with known_as(user, broker) as one:
            assert not await one.subscribe(f"_INBOX_{user}.>")
            heard = {"watcher": {"ft.evt.>"}, "operator": {"ft.evt.>", "ft.work.>", "$KV.>"}}.get(user, set())
            others = [f"_INBOX_{other}.>" for other in USERS if other != user]
            for subject in ("_INBOX.>", ">", "ft.evt.>", "ft.work.>", "$KV.>", "$JS.>", "$SYS.>", *others):
                assert bool(await one.subscribe(subject)) == (subject not in heard), (user, subject)


async def test_a_stranger_is_not_let_in(broker: Broker, tmp_path: Path) -> None:
    trusted = jetstream.authorities(broker.authority)
    for user, password in (("runner", "guessed"), ("nobody", "guessed"), ("", "")):
        with pytest.raises(Error):
            await nats.connect(broker.url, user=user, password=password, tls=trusted, allow_reconnect=False)
    other = tls.secrets(tmp_path / "other")
    with pytest.raises((Error, OSError), match=r"(?i)certificate"):
        await nats.connect(
            broker.url,
            user="runner",
            password=broker.password("runner"),
            tls=jetstream.authorities(other / "authority" / "ca.pem"),
            allow_reconnect=False,
        )


async def test_a_filter_in_the_body_cannot_be_wider_than_the_one_that_is_allowed(broker: Broker) -> None:
    async with known_as("runner", broker) as one:
        allowed = "ft.evt.parser.v1.task_created.*"
        for config in (
            {"filter_subject": "ft.evt.>"},
            {"filter_subjects": [allowed, "ft.evt.>"]},
            {},
            {"filter_subject": allowed, "name": "judge-run_finished", "durable_name": "judge-run_finished"},
        ):
            named = {"name": "runner-task_created", "durable_name": "runner-task_created", **config}
            request = {"stream_name": "FT_EVT", "config": {**named, "ack_policy": "explicit"}}
            subject = f"{API}.CONSUMER.CREATE.FT_EVT.runner-task_created.{allowed}"
            answer = await one.client.request(subject, json.dumps(request).encode(), timeout=5)
            assert "error" in json.loads(answer.data), config
        assert not await one.refused()


async def test_no_answer_of_the_broker_puts_words_into_anothers_mouth(broker: Broker) -> None:
    """The broker answers on whatever subject the asker names: what it says there must be no fact."""
    forged = "ft.evt.judge.v1.run_judged.forged"
    words = judge_events.RunJudged(run=run_pb2.Run(id="forged")).SerializeToString()

    def consumer(name: str, **told: str) -> tuple[str, object]:
        mine = f"ft.work.run.{name}"
        config = {"ack_policy": "explicit", "filter_subject": mine, "name": name, **told}
        return f"{API}.CONSUMER.CREATE.FT_WORK.{name}.{mine}", {"stream_name": "FT_WORK", "config": config}

    async with known_as("operator", broker) as operator, known_as("runner", broker) as one:
        js = operator.client.jetstream()
        for mine in ("$KV.ft_runner.words", "ft.work.run.pulled", "ft.work.run.pushed"):
            await one.client.request(mine, words, timeout=5)
        for subject, body in (
            consumer("pushed", deliver_subject=forged),
            consumer("pulled"),
            (f"{API}.CONSUMER.MSG.NEXT.FT_WORK.pulled", {"batch": 1}),
            (f"{API}.STREAM.MSG.GET.KV_ft_runner", {"last_by_subj": "$KV.ft_runner.words"}),
            (f"{API}.DIRECT.GET.KV_ft_runner.$KV.ft_runner.words", {}),
            (f"{API}.DIRECT.GET.KV_ft_runner", {"last_by_subj": "$KV.ft_runner.words"}),
        ):
            await one.publish(subject, json.dumps(body).encode(), reply=forged)
        await asyncio.sleep(0.3)
        info = await js.stream_info("FT_EVT")
        told = [await js.get_msg("FT_EVT", seq=n) for n in range(1, info.state.last_seq + 1)]
        answers = [message.data or b"" for message in told if message.subject == forged]
        assert len(answers) == 3  # two consumers made, a value that was asked for: JSON of the broker's
        for answer in answers:
            with pytest.raises(DecodeError):
                judge_events.RunJudged.FromString(answer)
        # What was pulled keeps the subject that it was published on, so no consumer of facts is given it.
        brought = {message.subject for message in told if message.data == words}
        assert brought <= {"ft.work.run.pulled", "ft.work.run.pushed"}
        assert "ft.work.run.pulled" in brought


async def test_three_servers_keep_everything_three_times(tmp_path: Path) -> None:
    secrets = tls.secrets(tmp_path / "secrets")
    ports = [servers.free_port() for _ in range(3)]
    routes = ",".join(f"nats://localhost:{port}" for port in ports)
    options = [("--cluster", f"nats://127.0.0.1:{port}", "--routes", routes) for port in ports]
    with (
        deployed.nats(tmp_path / "1", secrets, "cluster.conf", "--name", "nats-1", *options[0]) as first,
        deployed.nats(tmp_path / "2", secrets, "cluster.conf", "--name", "nats-2", *options[1]) as second,
    ):
        with deployed.nats(tmp_path / "3", secrets, "cluster.conf", "--name", "nats-3", *options[2]) as third:
            deployed.make_streams(secrets, f"{first},{second},{third}", "--replicas", "3")
            async with known_as("runner", Broker(third, secrets)) as one:
                await one.client.jetstream().publish("ft.evt.runner.v1.run_started.x", b"kept")
        async with known_as("operator", Broker(first, secrets)) as operator:  # the third is gone
            js = operator.client.jetstream()
            async with asyncio.timeout(20):
                while True:
                    try:
                        kept = await js.get_last_msg("FT_EVT", "ft.evt.runner.v1.run_started.x")
                        break
                    except (Error, NotFoundError, TimeoutError):
                        await asyncio.sleep(0.2)
            assert kept.data == b"kept"
            for stream in ("FT_EVT", "FT_WORK", "FT_DEAD", *(f"KV_ft_{name}" for name in SERVICES)):
                assert (await js.stream_info(stream)).config.num_replicas == 3


async def test_the_end_of_a_connection_is_told_in_our_own_words(
    broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio says of each that something has no effect, which is none of a night operator's business."""
    password, ca = broker.password("watcher"), broker.authority
    with structlog.testing.capture_logs() as lines:
        with deployed.nats(tmp_path, broker.secrets) as url:
            client = await jetstream.connect(url, name="test", user="watcher", password=password, ca=ca)
        async with asyncio.timeout(30):
            while not any(line["event"] == "nats disconnected" for line in lines):
                await asyncio.sleep(0.02)
        await client.close()
    assert not [record for record in caplog.records if "eof_received" in record.getMessage()]
    logging.getLogger("asyncio").warning("something else")
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == [
        "something else"
    ]


@contextmanager
def routed(folder: Path, part: Path, name: str, to: int) -> Iterator[None]:
    """A server of one's own, which joins by the certificate that a part of the installation is shown."""
    folder.mkdir()
    known = {
        "cert_file": str(part / f"{name}.pem"),
        "key_file": str(part / f"{name}.key"),
        "ca_file": str(part / "ca.pem"),
    }
    cluster = {"name": "firetrial", "listen": "127.0.0.1:-1", "tls": known}
    told = {"listen": "127.0.0.1:-1", "server_name": f"with-{name}", "cluster": cluster}
    (folder / "own.conf").write_text(json.dumps(told))
    argv = [str(servers.BIN / "nats-server"), "-c", str(folder / "own.conf"), "-l", str(folder / "log")]
    process = subprocess.Popen([*argv, "--routes", f"nats://localhost:{to}"])
    try:
        yield
    finally:
        servers.end(process)


def test_no_service_is_taken_for_a_server(tmp_path: Path) -> None:
    """Whoever has a route sees and says everything: its certificate must name a server of this cluster."""
    secrets = tls.secrets(tmp_path / "secrets")
    route, watched = servers.free_port(), servers.free_port()
    options = ("--name", "nats-1", "--cluster", f"nats://127.0.0.1:{route}", "-m", str(watched))

    def joined() -> set[str]:
        with urllib.request.urlopen(f"http://127.0.0.1:{watched}/routez", timeout=5) as answer:
            return {each["remote_name"] for each in json.load(answer)["routes"]}

    def answers() -> bool:
        try:
            return not joined()
        except OSError:
            return False

    with deployed.nats(tmp_path / "1", secrets, "cluster.conf", *options):
        servers.wait_for(answers, "nats-server")
        with routed(tmp_path / "nats", secrets / "nats", "nats", route):
            servers.wait_for(lambda: joined() == {"with-nats"}, "a server", 30)
        with routed(tmp_path / "tls", secrets / "runner", "tls", route):
            log = tmp_path / "tls" / "log"
            servers.wait_for(
                lambda: log.exists() and "Authorization Violation" in log.read_text(), "a no", 30
            )
            assert joined() == set()
