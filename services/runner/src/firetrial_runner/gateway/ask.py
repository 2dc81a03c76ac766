"""A call as it came from an agent: read within bounds, checked against what is allowed, ready to be sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from firetrial_runner.flood import Room
from firetrial_runner.gateway import content
from firetrial_runner.gateway.endpoints import Endpoint, Reader, whole
from firetrial_runner.gateway.faults import Kind, Refusal
from firetrial_runner.gateway.upstream import Upstream, choose

MAX_BYTES = 32 * 1024 * 1024
LARGE = 64 * 1024
"""Bytes of a request from which on it takes room before it is read to its end."""
_MOST = 3 * MAX_BYTES
"""Bytes of memory that one request may take, of those that its run has for all."""
_READ_S = 60.0

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


@dataclass(slots=True)
class Ask:
    """`prompt` is an estimate from above of the tokens that it holds, `reader` follows a streamed answer."""

    endpoint: Endpoint
    upstream: Upstream
    model: str
    body: dict[str, Any]
    prompt: int
    choices: int
    reader: Reader | None

    def sent(self) -> bytes:
        """What goes to the upstream: what was checked, and not what came."""
        self.endpoint.prepare(self.body)
        return json.dumps(self.body).encode()


class InHand:
    """What one request takes of its run's room, from its first large piece until it is over."""

    def __init__(self, room: Room) -> None:
        self._room, self._size = room, 0

    async def become(self, size: int) -> None:
        """Take or give what is missing or too much."""
        if size > self._size:
            await self._room.take(size - self._size)
        else:
            self._room.give(self._size - size)
        self._size = size

    async def read(self, receive: Receive) -> bytes:
        """The body. Raises Refusal for one too large or too slow, and ConnectionError for half of one."""
        try:
            async with asyncio.timeout(_READ_S):
                raw = await self._pieces(receive)
        except TimeoutError:
            raise Refusal(Kind.REQUEST, f"the request did not come within {_READ_S:.0f} s") from None
        if (size := _weight(raw)) > _MOST:
            raise Refusal(Kind.SIZE, "a request may not have so many parts")
        await self.become(size)
        return raw

    async def _pieces(self, receive: Receive) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise ConnectionError
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > MAX_BYTES:
                raise Refusal(Kind.SIZE, f"a request may have {MAX_BYTES} bytes")
            if not message.get("more_body"):
                return b"".join(pieces)
            if size > LARGE and not self._size:
                await self.become(_MOST)


def _weight(raw: bytes) -> int:
    """Bytes that a request takes at most: as it came, as it is sent, and as objects of Python between."""
    return 2 * len(raw) + 64 * sum(map(raw.count, (b",", b"[", b"{", b":")))


def checked(endpoint: Endpoint, body: dict[str, Any], raw: bytes, upstreams: Iterable[Upstream]) -> Ask:
    """`raw` as it may go on. Raises Refusal, with everything at once that is not allowed."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise Refusal(Kind.REQUEST, "model must be the name of a model")
    upstream = choose(upstreams, endpoint.dialect, model)
    if upstream is None:
        raise Refusal(
            Kind.MODEL, f"there is no model {model[:200]!r} here; GET /v1/models lists those there are"
        )
    needs = [(feature, where) for feature, where in endpoint.needs(body) if feature not in upstream.allow]
    if needs:
        told = ", ".join(f"{where} ({feature})" for feature, where in needs)
        raise Refusal(Kind.POLICY, f"not allowed here: {told}")
    reader = endpoint.reader(body) if body.get("stream") is True else None
    return Ask(endpoint, upstream, model, body, content.estimate(body, raw), whole(body, "n") or 1, reader)


def token(headers: Mapping[str, str]) -> str:
    """The run's token as either vendor's clients send it."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


def load(raw: bytes) -> dict[str, Any]:
    """Raises Refusal for what is no JSON object."""

    def number(name: str) -> float:
        raise ValueError(f"{name} is no JSON")

    try:
        body = json.loads(raw.decode(), parse_constant=number)
    except (ValueError, RecursionError) as error:
        raise Refusal(Kind.REQUEST, f"the request must be JSON: {str(error)[:200]}") from None
    if not isinstance(body, dict):
        raise Refusal(Kind.REQUEST, "the request must be a JSON object")
    return body
