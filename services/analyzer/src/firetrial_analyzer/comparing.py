"""Experiments set beside each other when it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from firetrial_analyzer.render import Format
from firetrial_analyzer.reports import Reports
from firetrial_analyzer.versus import versus
from firetrial_kit.errors import Fault, check

MOST = 7


async def compared(reports: Reports, experiment: str, others: Sequence[str], form: Format) -> bytes:
    """`experiment` beside at most MOST others. Raises INVALID, and what `Reports.report` raises."""
    faults = [
        Fault("compare_with", other, "must be another experiment, and each once")
        for place, other in enumerate(others)
        if other == experiment or other in others[:place]
    ]
    if len(others) > MOST:
        faults.append(Fault("compare_with", f"{len(others)} experiments", f"must be at most {MOST}"))
    check("the request", faults)
    base, *found = [await reports.report(id_) for id_ in (experiment, *others)]

    def work() -> bytes:
        # Not at start-up: it brings the templates.
        from firetrial_analyzer.render.versus import render  # noqa: PLC0415

        return render(versus(base, found), form)

    return await asyncio.to_thread(work)
