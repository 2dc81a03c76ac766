"""One suite for state, in memory and on a real JetStream."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import connect
from firetrial_kit.kv import JetStreamState
from firetrial_kit.records import Records
from firetrial_kit.state import State
from firetrial_kit.testing import InMemoryState


@pytest.fixture(params=["memory", pytest.param("jetstream", marks=pytest.mark.needs("nats-server"))])
async def state(request: pytest.FixtureRequest) -> AsyncIterator[State]:
    if request.param == "memory":
        yield InMemoryState()
        return
    client = await connect(request.getfixturevalue("nats_url"), name="test")
    yield await JetStreamState.open(client, f"t_{secrets.token_hex(4)}")
    await client.close()


async def test_create_get_update(state: State) -> None:
    assert await state.get("run.a") is None
    first = await state.create("run.a", b"1")
    with pytest.raises(FiretrialError) as fault:
        await state.create("run.a", b"2")
    assert fault.value.reason is Reason.ALREADY_EXISTS
    second = await state.update("run.a", b"2", first)
    entry = await state.get("run.a")
    assert entry
    assert (entry.key, entry.value, entry.revision) == ("run.a", b"2", second)
    with pytest.raises(FiretrialError) as fault:
        await state.update("run.a", b"3", first)
    assert fault.value.reason is Reason.CONFLICT


async def test_keys_of_any_alphabet_under_a_prefix(state: State) -> None:
    for key in ("agent.codex@12ab", "agent.ünï code", "agents.other", "run.a.b"):
        await state.create(key, b"{}")
    assert await state.keys("agent") == ["agent.codex@12ab", "agent.ünï code"]
    assert await state.keys("nothing") == []


async def test_keys_are_all_there_while_they_change(state: State) -> None:
    keys = [f"run.{number:03}" for number in range(300)]
    revisions = {key: await state.create(key, b"1") for key in keys}
    done = asyncio.Event()

    async def change(mine: list[str]) -> None:
        while not done.is_set():
            for key in mine:
                revisions[key] = await state.update(key, b"2", revisions[key])
                await asyncio.sleep(0)

    changing = [asyncio.create_task(change(keys[start::4])) for start in range(4)]
    found = [await state.keys("run") for _ in range(60)]
    done.set()
    await asyncio.gather(*changing)
    assert found == [keys] * 60


async def test_one_of_many_racers_creates(state: State) -> None:
    tried = await asyncio.gather(
        *(state.create("raced", str(number).encode()) for number in range(16)), return_exceptions=True
    )
    assert sum(isinstance(result, int) for result in tried) == 1


async def test_watch_gives_what_is_there_and_what_comes(state: State) -> None:
    await state.create("run.a", b"1")
    await state.create("task.a", b"-")
    seen: list[tuple[str, bytes]] = []

    async def watch() -> None:
        async for entry in state.watch("run."):
            seen.append((entry.key, entry.value))  # noqa: PERF401 - it never ends

    task = asyncio.create_task(watch())
    async with asyncio.timeout(5):
        while not seen:
            await asyncio.sleep(0.01)
        revision = (await state.get("run.a")).revision  # type: ignore[union-attr]
        await state.update("run.a", b"2", revision)
        await state.create("run.b", b"1")
        while len(seen) < 3:
            await asyncio.sleep(0.01)
    task.cancel()
    assert seen == [("run.a", b"1"), ("run.a", b"2"), ("run.b", b"1")]


async def test_a_watch_that_is_busy_can_be_cancelled(state: State) -> None:
    """A cancellation that meets a change must not be lost: the watch would never end."""
    for number in range(50):
        await state.create(f"busy.{number}", b"1")
    for turn in range(20):
        seen = asyncio.Event()

        async def watch(seen: asyncio.Event = seen) -> None:
            async for _ in state.watch("busy."):
                seen.set()

        task = asyncio.create_task(watch())
        await seen.wait()
        for _ in range(turn):
            await asyncio.sleep(0)
        task.cancel()
        async with asyncio.timeout(2):
            await asyncio.gather(task, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Counter:
    name: str
    value: int = 0


async def test_records_change_by_compare_and_set_and_lose_nothing(state: State) -> None:
    records = Records(state, "counter", Counter)
    assert await records.create("c", Counter("c"))
    assert not await records.create("c", Counter("other"))
    await asyncio.gather(
        *(records.change("c", lambda now: replace(now, value=now.value + 1)) for _ in range(10))
    )
    assert await records.get("c") == Counter("c", 10)
    with pytest.raises(FiretrialError, match="there is no counter 'd'") as fault:
        await records.change("d", lambda now: now)
    assert fault.value.reason is Reason.NOT_FOUND


async def test_pages(state: State) -> None:
    records = Records(state, "counter", Counter)
    for name in "edcba":
        await records.create(name, Counter(name))
    first, token = await records.page(2, "")
    second, last = await records.page(0, token)
    assert [record.name for record in first + second] == list("abcde")
    assert (token, last) == ("b", "")
    for size, bad in ((-1, ""), (1001, ""), (2, "nobody's")):
        with pytest.raises(FiretrialError) as fault:
            await records.page(size, bad)
        assert fault.value.reason is Reason.INVALID


@pytest.mark.needs("nats-server")
async def test_watches_that_are_over_do_not_fill_the_broker(nats_url: str) -> None:
    """It has room for 1,000 consumers a stream; by itself the client has each kept for five minutes."""
    client = await connect(nats_url, name="test")
    bucket = f"t_{secrets.token_hex(4)}"
    state = await JetStreamState.open(client, bucket)
    await state.create("run.a", b"1")
    for _ in range(3):
        async with aclosing(state.watch("run.a")) as entries:  # type: ignore[type-var]
            async for _entry in entries:
                break
    found = await client.jetstream().consumers_info(f"KV_{bucket}")
    assert [info.config.inactive_threshold for info in found] == [10.0] * len(found)
    await client.close()


async def test_what_is_deleted_is_gone_and_can_be_made_again(state: State) -> None:
    await state.delete("run.none")
    await state.create("run.a", b"1")
    await state.delete("run.a")
    assert await state.get("run.a") is None
    await state.create("run.a", b"2")
    entry = await state.get("run.a")
    assert entry
    assert entry.value == b"2"


@pytest.mark.needs("nats-server")
async def test_deleted_keys_are_not_listed_and_no_other_is_hidden(nats_url: str) -> None:
    """A mark stays where a key was deleted: each would be read in vain, for ever."""
    client, bucket = await connect(nats_url, name="test"), f"t_{secrets.token_hex(4)}"
    state = await JetStreamState.open(client, bucket)
    for number in range(600):
        await state.create(f"run.{number:03}", b"1")
    for number in range(500):
        await state.delete(f"run.{number:03}")
    there = [f"run.{number}" for number in range(500, 600)]
    reader = await JetStreamState.open(client, bucket)
    assert await reader.keys("run") == there
    await state.create("run.007", b"again")
    await state.create("run.new", b"1")
    assert await reader.keys("run") == ["run.007", *there, "run.new"]
    await state.delete("run.007")
    await state.delete("run.new")
    assert {*there} <= {*await reader.keys("run")}
    await client.close()


@pytest.mark.needs("nats-server")
async def test_a_bucket_that_was_made_again_is_known_anew(nats_url: str) -> None:
    client, bucket = await connect(nats_url, name="test"), f"t_{secrets.token_hex(4)}"
    state = await JetStreamState.open(client, bucket)
    await state.create("run.a", b"1")
    await state.delete("run.a")
    assert await state.keys("run") == []
    await client.jetstream().delete_key_value(bucket)
    again = await JetStreamState.open(client, bucket)
    await again.create("run.a", b"1")
    for number in range(3):
        await again.create(f"run.b{number}", b"1")
    assert await state.keys("run") == ["run.a", "run.b0", "run.b1", "run.b2"]
    await client.close()


@pytest.mark.needs("nats-server")
async def test_keys_that_come_and_go_are_listed_whenever_they_stand(nats_url: str) -> None:
    client, bucket = await connect(nats_url, name="test"), f"t_{secrets.token_hex(4)}"
    state = await JetStreamState.open(client, bucket)
    others = [await JetStreamState.open(client, bucket) for _ in range(3)]

    async def come_and_go(key: str) -> None:
        for _ in range(25):
            await state.create(key, b"1")
            assert all(key in found for found in await asyncio.gather(*(one.keys("run") for one in others)))
            await state.delete(key)

    await asyncio.gather(*(come_and_go(f"run.{name}") for name in "abcd"))
    await client.close()


@pytest.mark.needs("nats-server")
async def test_listings_at_the_same_time_read_no_mark_twice(nats_url: str) -> None:
    client, bucket = await connect(nats_url, name="test"), f"t_{secrets.token_hex(4)}"
    state = await JetStreamState.open(client, bucket)
    for number in range(20):
        await state.create(f"run.{number:02}", b"1")
        await state.delete(f"run.{number:02}")
    revision = await state.create("run.there", b"1")
    first: set[str] = set()
    for _ in range(10):
        listing = [asyncio.create_task(state.keys("run")) for _ in range(8)]
        for _ in range(5):
            revision = await state.update("run.there", b"2", revision)
        assert await asyncio.gather(*listing) == [["run.there"]] * 8
        looks = await client.jetstream().consumers_info(f"KV_{bucket}")
        first |= {look.name for look in looks if look.config.opt_start_seq in (None, 0, 1)}
    assert len(first) <= 1
    await client.close()
