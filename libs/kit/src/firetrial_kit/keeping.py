"""Copies of the state in the object store, from which it can be made again.

The state of a service is a stream of the broker, and every change of it is read by a durable consumer that
all processes of the service share. Changes of a second are written together, each record once and as it
stands; a copy is at most some seconds behind. What need not last, and what can be told from the rest, the
service leaves out: it says so in its module `rebuild`, as a Steward.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec

import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from firetrial_kit import attendance
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import DOWN, durable, heeding, said
from firetrial_kit.kv import JetStreamState, decode, encode
from firetrial_kit.objects import Objects
from firetrial_kit.state import State

NAME = "keeper"
_FOLDER = "state"
_JSON = "application/json"
_BATCH = 256
_AT_ONCE = 16
_PAUSE_S = 1.0
_PATIENCE_S = 5.0
_ACK_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Installation:
    """What a steward works with: the service's own state, and all objects."""

    state: State
    objects: Objects
    bus: Bus
    clock: Clock


@dataclass(frozen=True, slots=True)
class Belongings:
    """What is an experiment's alone: `records` by their keys in the service's state, `objects` by uri, and
    `runs` by id. `others` is what it uses and others may too, with the reason why that stays.

    `running` says why it cannot be taken away yet, `protected` by whom it is held for good; both are empty
    where nothing speaks against it. `ended` is when the last of it ended, where the service knows.
    """

    records: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    running: str = ""
    protected: str = ""
    ended: datetime | None = None


async def _nothing_more(_: Installation) -> list[str]:
    return []


async def _nothing_of(_: Installation, __: str, ___: Collection[str]) -> Belongings:
    return Belongings()


async def _none(_: Installation) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Steward:
    """What a service says of its records. Copies lie in `bucket`; `lasting` tells by kind and value which are
    kept.

    `complete` is called once the copies are back in the state, makes what follows from them, and says what
    could not be had; called again it changes nothing. `belongings` tells what is an experiment's, by its id
    and those of its runs; `unused` the objects that nothing refers to any more.
    """

    service: str
    bucket: str
    lasting: Callable[[str, bytes], bool] = lambda *_: True
    complete: Callable[[Installation], Awaitable[list[str]]] = _nothing_more
    belongings: Callable[[Installation, str, Collection[str]], Awaitable[Belongings]] = _nothing_of
    unused: Callable[[Installation], Awaitable[list[str]]] = _none

    def keeps(self, key: str, value: bytes) -> bool:
        """Whether there is to be a copy of a record."""
        kind = key.partition(".")[0]
        return kind != attendance.KIND and self.lasting(kind, value)

    def place(self, key: str) -> str:
        """Where the copy of a record lies in the bucket."""
        kind, _, id_ = key.partition(".")
        return f"{_FOLDER}/{self.service}/{kind}/{encode(id_)}.json"

    async def copies(self, objects: Objects) -> list[str]:
        """The keys of all records that have a copy, sorted."""
        prefix = f"{_FOLDER}/{self.service}/"
        found = await objects.keys(self.bucket, prefix)
        parts = (key.removeprefix(prefix).removesuffix(".json").partition("/") for key in found)
        return sorted(f"{kind}.{decode(id_)}" for kind, _, id_ in parts)


def steward(service: str) -> Steward | None:
    """That of a service; None where it is not installed here, or keeps no copies."""
    module = f"firetrial_{service}"
    if find_spec(module) is None or find_spec(f"{module}.rebuild") is None:
        return None
    found: Steward = import_module(f"{module}.rebuild").STEWARD
    return found


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of the copies: put back, or left aside for a record that stood there; and what was said."""

    put_back: int = 0
    there: int = 0
    remarks: tuple[str, ...] = field(default=())


async def restore(keeper: Steward, to: Installation, each: Callable[[], object] = lambda: None) -> Restored:
    """Put the copies back into the state, and what follows from them. A record that stands there stays.

    `each` is called after each copy.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def put_back(key: str) -> bool:
        async with gate:
            value = await to.objects.get(f"{keeper.bucket}/{keeper.place(key)}")
            try:
                await to.state.create(key, value)
            except FiretrialError as error:
                if error.reason is not Reason.ALREADY_EXISTS:
                    raise
                return False
            finally:
                each()
            return True

    done = await asyncio.gather(*map(put_back, await keeper.copies(to.objects)))
    remarks = await keeper.complete(to)
    return Restored(sum(done), len(done) - sum(done), tuple(remarks))


class Keeper:
    """Makes the copies, as one of several that share the work."""

    def __init__(
        self,
        client: Client,
        state: JetStreamState,
        objects: Objects,
        of: Steward,
        log: structlog.typing.FilteringBoundLogger,
    ) -> None:
        self._js = client.jetstream(timeout=5)
        self._state, self._objects, self._steward, self._log = state, objects, of, log

    async def run(self) -> None:
        """Until cancelled. A broker or store that is away is waited for."""
        while True:
            try:
                async for batch in self._changes():
                    await self._keep(batch)
            except (*DOWN, FiretrialError) as error:
                # What was not acknowledged comes again; the bucket itself may be gone, to be made again.
                self._log.warning("state not copied", error=said(error))
            await asyncio.sleep(_PAUSE_S)

    async def _changes(self) -> AsyncIterator[list[Msg]]:
        subjects = (f"$KV.{self._state.name}.>",)
        stream = f"KV_{self._state.name}"
        await heeding(self._js.add_consumer(stream, durable(NAME, subjects, _ACK_WAIT_S)))
        pull = await heeding(self._js.pull_subscribe_bind(durable=NAME, stream=stream))
        try:
            while True:
                with suppress(TimeoutError, nats.errors.TimeoutError):
                    yield await heeding(pull.fetch(_BATCH, timeout=_PATIENCE_S))
                await asyncio.sleep(_PAUSE_S)
        finally:
            with suppress(*DOWN):
                await pull.unsubscribe()

    async def _keep(self, batch: Iterable[Msg]) -> None:
        prefix = f"$KV.{self._state.name}."
        latest = {message.subject.removeprefix(prefix): message for message in batch}
        gate = asyncio.Semaphore(_AT_ONCE)

        async def keep(encoded: str) -> None:
            async with gate:
                await self._copy(decode(encoded))

        await asyncio.gather(*map(keep, latest))
        for message in batch:
            await message.ack()

    async def _copy(self, key: str) -> None:
        """Copy the record as it stands, until the copy is of what stands: another process may copy it too."""
        entry = await self._state.get(key)
        while entry is not None and self._steward.keeps(key, entry.value):
            await self._objects.put(self._steward.bucket, self._steward.place(key), entry.value, _JSON)
            now = await self._state.get(key)
            if now is None or now.revision == entry.revision:
                return
            entry = now
