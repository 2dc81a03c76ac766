"""SIGTERM ends a command as Ctrl-C does, so that what it began is not left behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

import click

from firetrial_client.errors import EXIT_TERMINATED


async def stoppable(work: Coroutine[Any, Any, None]) -> None:
    """See `work` through; SIGTERM cancels it, and a second one ends the program at once.

    Raises Exit with the code that a shell gives SIGTERM.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 -- a coroutine runs in one
    told = False

    def stop() -> None:
        nonlocal told
        told = True
        loop.remove_signal_handler(signal.SIGTERM)
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        await work
    except asyncio.CancelledError:
        if told:
            raise click.exceptions.Exit(EXIT_TERMINATED) from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
