"""Answers that were paid for once, by the content of what was asked, in the results bucket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from weakref import WeakValueDictionary

from pydantic import TypeAdapter, ValidationError

from firetrial_kit import tenants
from firetrial_kit.asking import Answer
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import Objects

_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


class Answers:
    """Asks for what is not at hand. Who asks for the same meanwhile waits and finds it.

    `looked` is told of each look: answers found, and not found.
    """

    def __init__(self, objects: Objects, looked: Callable[[int, int], None] = lambda *_: None) -> None:
        self._objects, self._looked = objects, looked
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def of(self, key: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer under `key`, a hash over all it depends on. Raises what `ask` and the store raise."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            if (kept := await self._find(key)) is not None:
                self._looked(1, 0)
                return kept
            self._looked(0, 1)
            answer = await ask()
            # One that cannot be kept is paid for again: no reason to lose the answer at hand.
            with suppress(FiretrialError):
                await self._objects.put(
                    "results", _object(key), _ANSWER.dump_json(answer), "application/json"
                )
            return answer

    async def _find(self, key: str) -> Answer | None:
        try:
            return _ANSWER.validate_json(await self._objects.get(f"results/{_object(key)}"))
        except ValidationError:
            return None
        except FiretrialError as error:
            # Away for a moment: better to come back later than to pay again.
            if error.reason is not Reason.NOT_FOUND and error.retryable:
                raise
            return None


def _object(key: str) -> str:
    key = tenants.apart(key)
    return f"attribution-cache/{key[:2]}/{key}.json"
