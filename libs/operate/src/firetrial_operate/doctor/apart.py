"""Work that may block for ever, in a thread that keeps nobody waiting, and no program from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from firetrial_operate.doctor.checks import BrokenError

R = TypeVar("R")
_OF_CODE = (ArithmeticError, AttributeError, ImportError, LookupError, RuntimeError, TypeError, ValueError)
FAULTS = (*_OF_CODE, OSError)
"""What foreign code raises where it is wrong."""


async def apart(work: Callable[[], R]) -> R:
    """What the work gives. Raises BrokenError, or one of FAULTS."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[R] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if end.done() else settled())

    def run() -> None:
        try:
            result = work()
        except (BrokenError, *FAULTS) as error:
            failed = error  # the name above ends with its block
            settle(lambda: end.set_exception(failed))
        else:
            settle(lambda: end.set_result(result))

    threading.Thread(target=run, daemon=True).start()
    return await end
