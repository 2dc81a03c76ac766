"""What an operator sees and does on a real broker: streams, consumers, dead letters."""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import CliRunner
from google.protobuf.timestamp_pb2 import Timestamp
from nats.js.api import AckPolicy, ConsumerConfig

from firetrial.judge.v1 import events_pb2
from firetrial_kit import events, logs
from firetrial_kit.bus import Consumer, Outgoing, Received
from firetrial_kit.dead import DEAD
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import JetStreamBus, connect
from firetrial_operate.admin.cli import admin
from support import servers
from support.operating import asked

pytestmark = pytest.mark.needs("nats-server")
Admin = Callable[..., Any]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.nats_server(tmp_path_factory.mktemp("admin")) as url:
        yield url


@pytest.fixture(autouse=True)
def apart() -> Iterator[None]:
    """What this process logs is no output of the commands that it runs."""
    logs.configure(stream=io.StringIO())
    yield
    structlog.reset_defaults()


@pytest.fixture
def ask(broker: str, tmp_path: Path) -> Admin:
    """Runs `firetrial admin …`."""
    environ = {"FIRETRIAL_NATS_URL": broker, "FIRETRIAL_OBJECTS_URL": f"file://{tmp_path}/objects"}
    return partial(asked, environ)


@asynccontextmanager
async def failing(broker: str, name: str, subject: str) -> AsyncIterator[tuple[JetStreamBus, list[Received]]]:
    """A bus on which a consumer gives up all that comes, and what it was given."""
    given: list[Received] = []

    async def handle(message: Received) -> None:
        given.append(message)
        raise FiretrialError(Reason.INVALID, "not one of ours\x1b[31m")

    async def fail(_: Received, __: FiretrialError) -> None:
        """Nobody is told."""

    client = await connect(broker, name="test")
    bus = JetStreamBus(client, structlog.get_logger())
    await bus.ensure_streams()
    consumer = Consumer(name, events.EVENTS, (subject,), handle, fail, ack_wait=2)
    task = asyncio.create_task(bus.consume(consumer, asyncio.Event()))
    try:
        yield bus, given
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.close()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.02)


def message(fact: str, number: int, data: bytes, type_: str) -> Outgoing:
    subject = events.subject("tests", fact, f"k{number}")
    return Outgoing(subject, data, f"{fact}:{number}", {"ce-type": type_, "ce-subject": f"k{number}"})


async def test_dead_letters_are_listed_shown_sent_again_once_and_dropped(broker: str, ask: Admin) -> None:
    fact = f"thing_{secrets.token_hex(4)}"
    judged = events_pb2.RunJudged()
    judged.run.id = "r-1\x1b[2J"
    async with failing(broker, fact, events.subject("tests", fact)) as (bus, given):
        await bus.publish(message(fact, 1, judged.SerializeToString(), "firetrial.judge.v1.RunJudged"))
        await bus.publish(message(fact, 2, b"\xff\x1b[2J\x00", "os.system"))
        await until(lambda: len(given) == 2)
        await asyncio.sleep(0.2)
        listed = await ask("dead", "list", "--consumer", fact)
        assert [(one["subject"][-2:], one["reason"], one["deliveries"]) for one in listed] == [
            ("k1", "INVALID", 1),
            ("k2", "INVALID", 1),
        ]
        first, second = (one["place"] for one in listed)
        assert (await ask("dead", "show", str(first)))["payload"]["message"]["run"]["id"] == judged.run.id
        assert (await ask("dead", "show", str(second)))["payload"]["bytes"] == "\\xff\x1b[2J\x00"
        for words in [await ask("dead", "show", str(place), words=True) for place in (first, second)]:
            assert "\x1b" not in words
            assert "\\x1b[2J" in words
        assert (await ask("dead", "requeue", str(first), "--dry-run"))[0]["done"] is None
        assert len(given) == 2
        assert [one["done"] for one in await ask("dead", "requeue", str(first), "--yes")] == [True]
        await until(lambda: len(given) == 3)
        assert given[2].headers["ft-requeued-from"] == str(first)
        assert (given[2].data, given[2].headers["ce-subject"]) == (given[0].data, "k1")
        assert given[2].headers["Nats-Msg-Id"] != given[0].headers["Nats-Msg-Id"]
        assert [one["done"] for one in await ask("dead", "requeue", str(first), "--yes")] == [False]
        assert [one["done"] for one in await ask("dead", "requeue", str(first), "--yes", "--again")] == [True]
        await until(lambda: len(given) == 4)
        # What failed again is a letter of its own, and tells where it came from.
        await asyncio.sleep(0.2)
        listed = await ask("dead", "list", "--consumer", fact)
        assert [one["requeued"] for one in listed] == [2, 0, 0, 0]
        assert [one["headers"].get("ft-requeued-from") for one in listed[2:]] == [str(first)] * 2
        await ask("dead", "drop", str(second), "--yes")
        assert second not in [one["place"] for one in await ask("dead", "list", "--consumer", fact)]


async def test_a_letter_that_cannot_be_kept_does_not_hold_up_what_follows(broker: str) -> None:
    fact = f"thing_{secrets.token_hex(4)}"
    async with failing(broker, fact, events.subject("tests", fact)) as (bus, given):
        js = bus._js
        await js.delete_stream(DEAD)
        try:
            for number in (1, 2):
                await bus.publish(message(fact, number, b"", ""))
            await until(lambda: len(given) == 2)
            await asyncio.sleep(0.3)
            info = await js.consumer_info(events.EVENTS, fact)
            assert (info.num_ack_pending, info.num_pending) == (0, 0)
        finally:
            await bus.ensure_streams()


async def test_a_full_stream_of_letters_drops_the_oldest(broker: str, ask: Admin) -> None:
    fact = f"thing_{secrets.token_hex(4)}"
    async with failing(broker, fact, events.subject("tests", fact)) as (bus, given):
        config = (await bus._js.stream_info(DEAD)).config
        await bus._js.update_stream(config, max_bytes=16_000)
        assert [one["drift"] for one in await ask("streams") if one["name"] == DEAD] == [
            ["max_bytes is 16000, should be 67108864"]
        ]
        for number in range(5):
            await bus.publish(message(fact, number, bytes(6_000), ""))
        await until(lambda: len(given) == 5)
        await asyncio.sleep(0.3)
        assert [one["subject"][-2:] for one in await ask("dead", "list")] == ["k3", "k4"]
        await bus._js.update_stream(config, max_bytes=64 * 1024 * 1024)


async def test_a_letter_that_puts_a_fact_into_anothers_mouth_is_not_sent(broker: str, ask: Admin) -> None:
    fact, made_up = f"thing_{secrets.token_hex(4)}", events.subject("judge", "run_judged", "r-1")
    async with failing(broker, fact, events.subject("tests", fact)) as (bus, given):
        await bus.publish(message(fact, 1, b"true", ""))
        await until(lambda: bool(given))
        await asyncio.sleep(0.2)
        (real,) = await ask("dead", "list", "--consumer", fact)
        letter = await bus._js.get_msg(DEAD, real["place"])
        assert letter.headers is not None
        assert letter.data is not None
        head = json.loads(letter.headers["ft-dead-letter"]) | {"subject": made_up}
        headers = {**letter.headers, "ft-dead-letter": json.dumps(head), "Nats-Msg-Id": secrets.token_hex(8)}
        forged = (await bus._js.publish(f"ft.dead.{fact}", letter.data, headers=headers)).seq
        with pytest.raises(FiretrialError, match="could have made it up"):
            await ask("dead", "requeue", str(forged), "--yes")
        assert [one["done"] for one in await ask("dead", "requeue", str(real["place"]), "--yes")] == [True]
        sent = await ask("dead", "requeue", str(forged), "--yes", "--unverified")
        assert [one["subject"] for one in sent] == [made_up]


async def test_what_is_no_letter_hides_none(broker: str, ask: Admin) -> None:
    fact = f"thing_{secrets.token_hex(4)}"
    async with failing(broker, fact, events.subject("tests", fact)) as (bus, given):
        await bus._js.publish(f"ft.dead.{fact}", b"\x1b[2J", headers={"ft-dead-letter": "{"})
        await bus.publish(message(fact, 1, b"", ""))
        await until(lambda: bool(given))
        await asyncio.sleep(0.2)
        forged, real = await ask("dead", "list", "--consumer", fact)
        assert (forged["reason"], real["reason"]) == ("CORRUPT", "INVALID")
        assert "\x1b" not in await ask("dead", "show", str(forged["place"]), words=True)
        with pytest.raises(FiretrialError, match="cannot be sent again"):
            await ask("dead", "requeue", str(forged["place"]), "--yes")
        await ask("dead", "drop", str(forged["place"]), "--yes")


async def test_streams_and_consumers_tell_how_far_behind_they_are(broker: str, ask: Admin) -> None:
    fact = f"thing_{secrets.token_hex(4)}"
    async with failing(broker, fact, events.subject("tests", fact)) as (bus, _):
        streams = {one["name"]: one for one in await ask("streams")}
        assert {"FT_EVT", "FT_WORK", "FT_DEAD"} <= streams.keys()
        assert not any(one["drift"] for one in streams.values())
        await until(lambda: bool(bus))
        (read,) = [one for one in await ask("consumers") if one["name"] == fact]
        assert (read["kind"], read["orphan"], read["drift"], read["behind_s"]) == ("durable", False, [], None)
    for number in range(3):
        client = await connect(broker, name="test")
        await JetStreamBus(client, structlog.get_logger()).publish(message(fact, number, b"", ""))
        await client.close()
    (left,) = [one for one in await ask("consumers") if one["name"] == fact]
    assert (left["pending"], left["unsettled"], left["waiting"], left["orphan"]) == (3, 0, 0, False)
    assert 0 <= left["behind_s"] < 10
    with pytest.raises(FiretrialError, match="no orphan"):
        await ask("consumers", "delete", "FT_EVT", fact, "--yes")
    with pytest.raises(FiretrialError, match="3 messages wait"):
        await ask("consumers", "delete", "FT_EVT", fact, "--yes", "--idle", "0")
    gone = ("consumers", "delete", "FT_EVT", fact, "--idle", "0", "--lose-pending")
    assert not (await ask(*gone, "--dry-run"))["deleted"]
    assert (await ask(*gone, "--yes"))["deleted"]
    assert fact not in [one["name"] for one in await ask("consumers")]


async def test_what_an_operator_changed_is_told(broker: str, ask: Admin) -> None:
    fact = f"thing_{secrets.token_hex(4)}"
    async with failing(broker, fact, events.subject("tests", fact)) as (bus, _):
        await asyncio.sleep(0.3)
        config = (await bus._js.consumer_info(events.EVENTS, fact)).config
        config.max_deliver = 5
        await bus._js.add_consumer(events.EVENTS, config)
        (read,) = [one for one in await ask("consumers") if one["name"] == fact]
        assert read["drift"] == ["max_deliver is 5, should be -1"]


async def test_nothing_is_destroyed_unasked(broker: str, ask: Admin, tmp_path: Path) -> None:
    environ = {"FIRETRIAL_NATS_URL": broker, "FIRETRIAL_OBJECTS_URL": f"file://{tmp_path}/objects"}
    fact = f"thing_{secrets.token_hex(4)}"
    async with failing(broker, fact, events.subject("tests", fact)) as (bus, given):
        await bus.publish(Outgoing(events.subject("tests", fact, "k"), Timestamp().SerializeToString(), fact))
        await until(lambda: bool(given))
        await asyncio.sleep(0.2)
        (letter,) = await ask("dead", "list", "--consumer", fact)
        for command in ("drop", "requeue"):
            argv = ["dead", command, str(letter["place"])]
            result = await asyncio.to_thread(CliRunner(env=environ).invoke, admin, argv)
            assert (result.exit_code, "--yes" in result.output) == (2, True)
        assert await ask("dead", "list", "--consumer", fact) == [letter]


async def test_what_is_not_there_is_told_with_where_to_look(ask: Admin) -> None:
    for name in ("nobody", "a.b", "a b", "*"):
        with pytest.raises(FiretrialError, match="admin consumers` lists them") as told:
            await ask("consumers", "delete", "FT_EVT", name, "--yes")
        assert told.value.reason is Reason.NOT_FOUND
    with pytest.raises(FiretrialError, match="admin dead list` shows"):
        await ask("dead", "show", "999999")
    told = await ask("drain", "--all", "--pool", "nobodys", "--yes", words=True)
    assert "no runner is there in pool nobodys" in told


async def test_a_backup_says_why_it_cannot_be_made(ask: Admin, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FiretrialError, match=r"File exists.*name another folder"):
        await ask("backup", str(tmp_path / "file" / "below"))
    to = tmp_path / "backup"
    lock = to / "streams" / "lock"
    lock.parent.mkdir(parents=True)
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(FiretrialError, match="another backup is being made"):
            await ask("backup", str(to))
    assert (await ask("backup", str(to)))["count"] == 0
    assert (to / "manifest.json").exists()


async def test_who_asks_in_turns_is_no_orphan(ask: Admin, broker: str) -> None:
    """As a keeper of state does, which writes down what it was given before it asks again."""
    client = await connect(broker, name="test")
    js = client.jetstream()
    await js.add_stream(name="FT_TURNS", subjects=["turns.>"])
    pull = await js.pull_subscribe("turns.>", durable="in-turns")

    async def turns() -> None:
        while True:
            with suppress(TimeoutError):
                await pull.fetch(1, timeout=0.4)
            await asyncio.sleep(0.8)

    await js.add_consumer("FT_TURNS", ConsumerConfig(durable_name="unread", ack_policy=AckPolicy.EXPLICIT))
    task = asyncio.create_task(turns())
    try:
        await asyncio.sleep(0.7)  # it pauses now, more likely than not
        told = {one["name"]: one for one in await ask("consumers", "--idle", "0", "--orphans")}
        assert {name for name in told if told[name]["stream"] == "FT_TURNS"} == {"unread"}
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await js.delete_stream("FT_TURNS")
        await client.close()
