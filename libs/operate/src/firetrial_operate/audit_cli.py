"""`firetrial admin audit`: who called what, and what came of it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from firetrial.audit.v1.events_pb2 import CallAudited
from firetrial_kit.audit import STREAM
from firetrial_kit.events import EVENTS, subject
from firetrial_kit.jetstream import found
from firetrial_operate import printing
from firetrial_operate.access import opened
from firetrial_operate.admin.stored import messages
from firetrial_operate.tokens_cli import SPAN

_COLUMNS = ["CALLED", "TENANT", "WHO", "METHOD", "CODE", "RESOURCES", "FROM"]


@click.command()
@click.option("--since", default="24h", show_default=True, type=SPAN, help="How far back: 2h, 7d, 2w.")
@click.option("--tenant", help="Calls of this tenant alone.")
@click.option("--principal", help="Calls of this token or certificate alone, by its name.")
@click.option("--refused", is_flag=True, help="Those alone that came to nothing.")
@printing.as_json
def audit(since: timedelta, tenant: str | None, principal: str | None, refused: bool, as_json: bool) -> None:
    """Every call that made or changed something, or was refused, the oldest first.

    They are kept for 400 days where `python -m firetrial_kit.streams make` made the streams, or as long as it
    was told by --audit-days; else as long as all facts, two weeks.
    """
    wanted = {"tenant": tenant, "principal": principal}

    async def read() -> list[dict[str, Any]]:
        async with opened(os.environ) as access:
            after = datetime.now(UTC) - since
            # After a restore the broker copies what was restored once more.
            told = {call.id: _plain(call) async for call in _calls(access.js, after)}
        return [
            one
            for one in told.values()
            if all(value in (None, one[name]) for name, value in wanted.items())
            and not (refused and one["code"] == "OK")
        ]

    calls = printing.run(read())
    if as_json:
        printing.show_json(calls)
        return
    printing.table(_COLUMNS, map(_row, calls), less=["FROM"])


def _row(one: dict[str, Any]) -> list[str]:
    """A line for people."""
    method, who = one["method"].rpartition("/")[2], (one["tenant"] or "?", one["principal"] or "?")
    return [one["called_at"][:19], *who, method, one["code"], " ".join(one["resources"][:3]), one["peer"]]


async def _calls(js: Any, after: datetime) -> AsyncIterator[CallAudited]:
    kept = await found(STREAM, js.stream_info(STREAM)) is not None
    async for message in messages(js, STREAM if kept else EVENTS, subject("*", "call_audited")):
        if message.at >= after:
            yield CallAudited.FromString(message.data)


def _plain(call: CallAudited) -> dict[str, Any]:
    return {
        "id": call.id,
        "called_at": call.called_at.ToJsonString(),
        "tenant": call.tenant,
        "principal": call.principal,
        "method": call.method,
        "resources": list(call.resources),
        "code": call.code,
        "took_s": call.took.ToNanoseconds() / 1e9,
        "peer": call.peer,
        "trace_id": call.trace_id,
        "untold": call.untold,
    }
