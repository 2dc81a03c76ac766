"""Checks, and how all of them are run at once: each under a limit, none held up by what it does not need."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

LIMIT_S = 6.0
"""Seconds that one check may take."""
WHOLE_S = 14.0
"""Seconds that all of them may take."""


class State(StrEnum):
    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"  # what it rests on is broken, and is told by itself
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `cure` says what to do, where something is to be done."""

    name: str
    state: State
    detail: str
    cure: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is known to be broken."""
        return self.state is not State.FAIL


@dataclass(frozen=True, slots=True)
class Told:
    """What a check says; a warning where it has a cure."""

    detail: str
    cure: str = ""


class BrokenError(Exception):
    """Raised by a check whose part does not work, with what to do."""

    def __init__(self, detail: str, cure: str) -> None:
        super().__init__(detail)
        self.detail, self.cure = detail, cure


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at.

    `needs` are the checks without which it means nothing: it is skipped where one of them fails. `later` are
    those whose end it waits for, whatever they find. Names that nobody has are not waited for.
    """

    name: str
    look: Callable[[], Awaitable[Told]]
    needs: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    limit_s: float = LIMIT_S


def chosen(checks: Sequence[Check], wanted: Sequence[str]) -> list[Check]:
    """Those named, or below a name ("broker" is also "broker.streams"), and what they need. All for none."""
    by_name = {check.name: check for check in checks}
    open_ = [name for name in by_name if any(is_below(name, one) for one in wanted)]
    found: set[str] = set()
    while open_:
        name = open_.pop()
        if name in by_name and name not in found:
            found.add(name)
            open_ += by_name[name].needs
    return [check for check in checks if not wanted or check.name in found]


def is_below(name: str, one: str) -> bool:
    return name == one or name.startswith(f"{one}.")


async def run(checks: Sequence[Check], whole_s: float = WHOLE_S) -> list[Finding]:
    """What all of them find, in their order, after at most `whole_s` seconds."""
    loop = asyncio.get_running_loop()
    ends: dict[str, asyncio.Future[Finding]] = {check.name: loop.create_future() for check in checks}
    tasks = {check.name: asyncio.create_task(_end(check, ends)) for check in checks}
    if tasks:
        _, late = await asyncio.wait(tasks.values(), timeout=whole_s)
        for task in late:
            task.cancel()
    # A fault of the check's own is no reason to say nothing of all others.
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    return [ends[name].result() for name in tasks]


async def _end(check: Check, ends: Mapping[str, asyncio.Future[Finding]]) -> None:
    found = Finding(check.name, State.FAIL, "the check did not end", "look at what it asks by hand")
    try:
        awaited = [ends[name] for name in (*check.needs, *check.later) if name in ends]
        if awaited:
            await asyncio.wait(awaited)
        broken = [name for name in check.needs if name in ends and _is_broken(ends[name].result())]
        if broken:
            found = Finding(check.name, State.SKIP, f"not looked at: {broken[0]} comes first")
        else:
            found = await _looked(check)
    finally:
        ends[check.name].set_result(found)


def _is_broken(finding: Finding) -> bool:
    return finding.state in (State.FAIL, State.SKIP)


async def _looked(check: Check) -> Finding:
    try:
        async with asyncio.timeout(check.limit_s):
            told = await check.look()
    except BrokenError as error:
        return Finding(check.name, State.FAIL, error.detail, error.cure)
    except TimeoutError:
        detail = f"no answer within {check.limit_s:.0f} s"
        return Finding(check.name, State.FAIL, detail, "see whether it hangs, or a firewall drops packets")
    return Finding(check.name, State.WARN if told.cure else State.OK, told.detail, told.cure)
