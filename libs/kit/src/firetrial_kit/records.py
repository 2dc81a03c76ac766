"""Typed records over `State`: the current state of one kind of resource, changed by compare-and-set.

Whoever acts for a tenant sees that tenant's records and no others, which to it do not exist.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from firetrial_kit import tenants
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_kit.state import State

T = TypeVar("T")
MAX_PAGE = 1000
DEFAULT_PAGE = 50


class Records(Generic[T]):
    """Records of one `kind`, by id. `type_` is a dataclass or pydantic model; it is kept as JSON.

    `shared` are no tenant's: their ids are of something that all have in common.
    """

    def __init__(self, state: State, kind: str, type_: type[T], *, shared: bool = False) -> None:
        self._state = state
        self._kind = kind
        self._shared = shared
        self._type: TypeAdapter[T] = TypeAdapter(type_)

    async def find(self, id_: str) -> T | None:
        """The record, or None."""
        entry = await self._state.get(f"{self._kind}.{id_}") if id_ and self._seen(id_) else None
        return self._type.validate_json(entry.value) if entry else None

    async def get(self, id_: str) -> T:
        """The record. Raises NOT_FOUND naming the kind, the id and how to see which there are."""
        record = await self.find(id_)
        if record is None:
            raise FiretrialError(
                Reason.NOT_FOUND,
                f"there is no {self._kind} {id_!r}; list the {self._kind}s to see which there are",
                faults=[Fault(f"{self._kind}.id", id_, "must be the id of one that exists")],
            )
        return record

    async def create(self, id_: str, record: T) -> bool:
        """Store a new record; False, and nothing changed, where the id is taken.

        Raises ValueError for an id that is not of the tenant for whom it is made: a bug.
        """
        if not self._seen(id_):
            raise ValueError(f"the {self._kind} {id_!r} is not made for {tenants.current()}")
        try:
            await self._state.create(f"{self._kind}.{id_}", self._type.dump_json(record))
        except FiretrialError as error:
            if error.reason is Reason.ALREADY_EXISTS:
                return False
            raise
        return True

    async def change(self, id_: str, change: Callable[[T], T | None]) -> T:
        """Apply `change` to the record as it stands, again whenever another was faster; return the result.

        `change` is pure; it returns None to leave the record as it is. Raises NOT_FOUND, or what it raises.
        """
        key = f"{self._kind}.{id_}"
        while True:
            entry = await self._state.get(key) if self._seen(id_) else None
            if entry is None:
                return await self.get(id_)
            record = self._type.validate_json(entry.value)
            changed = change(record)
            if changed is None or changed == record:
                return record
            try:
                await self._state.update(key, self._type.dump_json(changed), entry.revision)
            except FiretrialError as error:
                if error.reason is not Reason.CONFLICT:
                    raise
            else:
                return changed

    async def ids(self) -> list[str]:
        """All ids, sorted."""
        keys = await self._state.keys(self._kind)
        return [id_ for key in keys if self._seen(id_ := key.removeprefix(f"{self._kind}."))]

    async def all(self) -> list[T]:
        """Every record, sorted by id."""
        found = [await self.find(id_) for id_ in await self.ids()]
        return [record for record in found if record is not None]

    async def page(self, size: int, token: str, ids: list[str] | None = None) -> tuple[list[T], str]:
        """Up to `size` records after `token`, and the token of the next page ("" on the last).

        Walks `ids` in their own order where given, else all ids sorted. Size 0 means 50.
        Raises INVALID for a size outside 0 to 1000 or a token that no page gave.
        """
        if not 0 <= size <= MAX_PAGE:
            raise invalid("the page", [Fault("page_size", str(size), f"must be 0 to {MAX_PAGE}")])
        known = await self.ids() if ids is None else ids
        start = _after(known, token)
        chosen = known[start : start + (size or DEFAULT_PAGE)]
        found = [await self.find(id_) for id_ in chosen]
        more = start + len(chosen) < len(known)
        return [record for record in found if record is not None], chosen[-1] if more else ""

    async def watch(self, id_: str = "") -> AsyncIterator[T]:
        """The record with `id_`, or every record where that is empty: as it is now, then each change."""
        async for entry in self._state.watch(f"{self._kind}.{id_}"):
            if self._seen(entry.key.removeprefix(f"{self._kind}.")):
                yield self._type.validate_json(entry.value)

    def _seen(self, id_: str) -> bool:
        return self._shared or tenants.sees(id_)


def _after(ids: list[str], token: str) -> int:
    if not token:
        return 0
    try:
        return ids.index(token) + 1
    except ValueError:
        raise invalid(
            "the page", [Fault("page_token", token, "must be the next_page_token of the page before")]
        ) from None
