"""Runners that are there, and how they are told to take nothing new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from firetrial_kit.attendance import Attendant, attendants
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.state import State

BUCKET = "ft_runner"


async def there(state: State, now: datetime) -> list[Attendant]:
    """The runners that said so within the last seconds, by pool and name."""
    alive = [one for one in await attendants(state).all() if one.there(now)]
    return sorted(alive, key=lambda one: (one.pool, one.instance))


def chosen(alive: Sequence[Attendant], names: Sequence[str], pool: str, *, every: bool) -> list[Attendant]:
    """Those that are meant: `names`, each the instance or an unmistakable beginning of it, or every one of a
    pool. Raises NOT_FOUND, or PRECONDITION for one that shares its process with other services.
    """
    meant = [one for one in alive if every and pool in ("", one.pool)]
    faults: list[Fault] = []
    for name in names:
        found = [one for one in alive if one.instance == name] or [
            one for one in alive if one.instance.startswith(name)
        ]
        if len(found) == 1:
            meant += found
        else:
            cure = "must be one that `firetrial admin runners` lists" if not found else _which(found)
            faults.append(Fault("runner", name, cure))
    if faults:
        told = "; ".join(map(str, faults))
        raise FiretrialError(Reason.NOT_FOUND, f"which runner? {told}", faults=faults)
    try:
        check("the drain", _shared(meant))
    except FiretrialError as error:
        raise FiretrialError(Reason.PRECONDITION, error.message, faults=error.faults) from error
    return list({one.instance: one for one in meant}.values())


def _which(found: Sequence[Attendant]) -> str:
    return "must be longer: it begins " + ", ".join(one.instance for one in found[:5])


def _shared(meant: Sequence[Attendant]) -> Iterator[Fault]:
    for one in meant:
        if not one.alone:
            cure = (
                "shares its process with other services: `firetrial down` ends them, `up --split` parts them"
            )
            yield Fault("runner", one.instance, cure)


async def drain(state: State, instance: str) -> Attendant:
    """Ask a runner to take nothing new, finish what it has in hand and end. Raises NOT_FOUND."""
    return await attendants(state).change(instance, lambda one: replace(one, drain_asked=True))
