"""Work in threads that can be stopped: left to itself, one goes on in a folder that is being removed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Check = Callable[[], None]
"""Raises StoppedError where the work is to end; called by it now and then."""


class StoppedError(Exception):
    """The work was stopped."""


def never() -> None:
    """A check of work that nobody stops."""


async def in_thread(work: Callable[[Check], T]) -> T:
    """Run `work(check)` in a thread. Cancelled, it stops the work and ends only when that has ended."""
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise StoppedError

    thread = asyncio.ensure_future(asyncio.to_thread(work, check))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(thread, return_exceptions=True)
        raise
