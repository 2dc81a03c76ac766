"""Asking a model: a versioned prompt with its schema, texts in, a checked value out, nothing paid for twice.

An answer is kept by all that it depends on: prompt, schema, model, address and texts. So a second parse of
the same paper asks nothing, and one that failed halfway asks for what is missing. The texts come from papers
and agents and are hostile: each request fences them with a marker that no writer can know.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, cast

from firetrial_kit.asking import Call, MalformedAnswer, Meter, ModelError, Price, Spent
from firetrial_kit.cache import Cache, NoCache
from firetrial_kit.errors import Fault
from firetrial_kit.ids import digest
from firetrial_kit.models import Endpoint, Message, ModelClient
from firetrial_kit.once import Turns

REPAIRS = 2  # an answer with faults is asked for again so often, the faults named
SHOWN_FAULTS = 40
KEPT = ("papers", "asked")  # bucket and prefix under which answers are kept

Check = Callable[[Any], Sequence[Fault]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is told to do and the JSON schema of its answer. `{marker}` stands for that of the texts.

    `name` says what for ("tree-outline"), in metrics and records too; a changed text has a new `version`.
    """

    name: str
    version: str
    text: str
    schema: Mapping[str, Any]


def load_prompt(name: str, version: str, package: str = "firetrial_parser.templates") -> Prompt:
    """The prompt in `<name>-<version>.txt` and the schema in `<name>-<version>.json` of a package's data."""
    folder = files(package)
    text = (folder / f"{name}-{version}.txt").read_text("utf-8")
    schema = json.loads((folder / f"{name}-{version}.json").read_text("utf-8"))
    return Prompt(name, version, text, schema)


@dataclass(slots=True)
class Bill:
    """What one piece of work has asked of models, by prompt. It counts also where the work fails."""

    spent: dict[str, Spent] = field(default_factory=dict)

    def add(self, name: str, spent: Spent) -> None:
        """Add one answer, or one that never came."""
        self.spent[name] = self.spent.get(name, Spent()) + spent

    @property
    def total(self) -> Spent:
        """All together."""
        return sum(self.spent.values(), Spent())

    def to_json(self) -> dict[str, float | None]:
        """All together, for people and scripts; the cost is None where a price is unknown."""
        total = self.total
        return {"calls": total.calls, "cost_usd": total.known_cost, "cache_hits": total.cache_hits}


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that fits its schema, and what is still wrong with it."""

    value: Any
    faults: tuple[Fault, ...] = ()


class Asker:
    """Asks one model. `looked` is told of each look into the cache: answers found, and not found."""

    def __init__(
        self,
        client: ModelClient,
        *,
        cache: Cache | None = None,
        price: Price | None = None,
        looked: Callable[[int, int], None] = lambda *_: None,
        token: Callable[[], str] = lambda: secrets.token_hex(12),
    ) -> None:
        self._client = client
        self._cache = cache or NoCache()
        self._turns = Turns()
        self._looked = looked
        self._token = token
        self.price = price

    @property
    def model(self) -> str:
        """The model's name."""
        return self._client.endpoint.model

    async def ask(
        self,
        prompt: Prompt,
        texts: Mapping[str, str],
        bill: Bill,
        *,
        check: Check = lambda _: (),
        repairs: int = REPAIRS,
        meter: Meter | None = None,
    ) -> Answered:
        """Ask about titled texts; where `check` finds faults, ask again with them named.

        `check` runs in a thread. Gives the answer with the fewest faults, the latest of several. Raises the
        client's ModelErrors and what the meter raises; `bill` holds what was spent also then.
        """
        best: Answered | None = None
        said: tuple[str, str] | None = None
        for _ in range(repairs + 1):
            try:
                value = await self._known(prompt, texts, said, bill, meter)
            except MalformedAnswer:
                if best is None:
                    raise
                break  # it was asked for a better one, and gave none at all
            answered = Answered(value, tuple(await asyncio.to_thread(check, value)))
            if best is None or len(answered.faults) <= len(best.faults):
                best = answered
            before, said = said, (json.dumps(value, ensure_ascii=False), _named(answered.faults))
            if not answered.faults or said == before:
                break  # it is right, or the model stays by it
        return cast("Answered", best)

    async def _known(
        self,
        prompt: Prompt,
        texts: Mapping[str, str],
        said: tuple[str, str] | None,
        bill: Bill,
        meter: Meter | None,
    ) -> Any:
        """The answer that was paid for, now or before."""
        endpoint = self._client.endpoint
        where = (endpoint.dialect, endpoint.base_url, endpoint.model)
        key = digest(
            prompt.name, prompt.version, prompt.text, prompt.schema, where, list(texts.items()), said
        )
        async with self._turns.of(key):  # who asks for the same meanwhile finds it in the cache
            kept = _value((await self._cache.get([key])).get(key))
            if kept is not None:
                self._looked(1, 0)
                bill.add(prompt.name, Spent(cache_hits=1))
                return kept
            self._looked(0, 1)
            try:
                answer = await self._client.ask(
                    self._messages(prompt, texts, said), prompt.schema, name=prompt.name, meter=meter
                )
            except ModelError as error:
                bill.add(prompt.name, Spent.of(error.usage, self.price))
                raise
            bill.add(prompt.name, Spent.of(answer.usage, self.price))
            await self._cache.put({key: json.dumps(answer.value).encode()})
        return answer.value

    def _messages(
        self, prompt: Prompt, texts: Mapping[str, str], said: tuple[str, str] | None
    ) -> list[Message]:
        marker = self._token()
        while any(marker in text for text in texts.values()):
            marker = self._token()
        fenced = "\n\n".join(f"<<{marker} {title}\n{text}\n{marker}>>" for title, text in texts.items())
        asked = [Message("system", prompt.text.replace("{marker}", marker)), Message("user", fenced)]
        return asked if said is None else [*asked, Message("assistant", said[0]), Message("user", said[1])]


def _named(faults: Sequence[Fault]) -> str:
    listed = "\n".join(f"- {fault}" for fault in faults[:SHOWN_FAULTS])
    return f"That answer has these faults:\n{listed}\nGive the whole answer again without them."


def _value(data: bytes | None) -> Any:
    """What was kept; None where nothing was, or it cannot be read."""
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return None


@asynccontextmanager
async def opened(
    endpoint: Endpoint,
    *,
    cache: Cache | None = None,
    price: Price | None = None,
    looked: Callable[[int, int], None] = lambda *_: None,
    observe: Callable[[Call], None] = lambda _: None,
    payer: Callable[[str], Meter | None] = lambda _: None,
) -> AsyncIterator[Asker]:
    """An asker with connections of its own, closed at the end."""
    client = ModelClient(endpoint, observe=observe, payer=payer)
    try:
        yield Asker(client, cache=cache, price=price, looked=looked)
    finally:
        await client.aclose()
