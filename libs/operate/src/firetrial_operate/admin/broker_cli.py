"""`firetrial admin streams` and `firetrial admin consumers`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import click
from nats.js.api import StreamInfo

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import reach
from firetrial_operate import printing
from firetrial_operate.access import opened
from firetrial_operate.admin import broker
from firetrial_operate.admin.broker import Reader

_IDLE = 300.0


@click.command()
@printing.as_json
def streams(as_json: bool) -> None:
    """What the broker keeps, and in what a stream is not as the code would make it."""

    async def read() -> list[StreamInfo]:
        async with opened(os.environ) as access:
            return await broker.stream_infos(access.js)

    told = [_stream(info) for info in printing.run(read())]
    if as_json:
        printing.show_json(told)
        return
    rows = [
        (one["name"], one["messages"], printing.size(one["bytes"]), one["first"], one["last"],
         one["consumers"], printing.size(one["limit_bytes"]) if one["limit_bytes"] else "",
         "; ".join(one["drift"]))
        for one in told
    ]  # fmt: skip
    printing.table(["NAME", "MESSAGES", "SIZE", "FIRST", "LAST", "CONSUMERS", "LIMIT", "DRIFT"], rows)


def _stream(info: StreamInfo) -> dict[str, Any]:
    state, limit = info.state, info.config.max_bytes or 0
    return {
        "name": info.config.name,
        "subjects": info.config.subjects,
        "messages": state.messages,
        "bytes": state.bytes,
        "first": state.first_seq,
        "last": state.last_seq,
        "consumers": state.consumer_count,
        "limit_bytes": max(limit, 0),
        "max_age_s": info.config.max_age or 0,
        "replicas": info.config.num_replicas,
        "drift": broker.stream_drift(info),
    }


@click.group(invoke_without_command=True)
@click.option("--orphans", is_flag=True, help="Those alone that nobody reads.")
@click.option("--idle", type=click.FloatRange(min=0), default=_IDLE, show_default=True,
              help="Seconds of silence after which one that nobody asks is an orphan.")  # fmt: skip
@printing.as_json
@click.pass_context
def consumers(ctx: click.Context, orphans: bool, idle: float, as_json: bool) -> None:
    """Who reads the streams, how far behind they are, and which are orphans.

    BEHIND is the age of the oldest message that is not settled. An orphan is asked by nobody, has nothing in
    hand and was silent for --idle seconds.
    """
    if ctx.invoked_subcommand:
        return

    async def read() -> list[dict[str, Any]]:
        async with opened(os.environ) as access:
            names = [str(info.config.name) for info in await broker.stream_infos(access.js)]
            found = [reader for name in names for reader in await broker.readers(access.js, name)]
            known = await broker.orphans(access.js, found, idle)
            return [_consumer(reader, (reader.stream, reader.name) in known) for reader in found]

    told = printing.run(read())
    told = [one for one in told if one["orphan"] or not orphans]
    if as_json:
        printing.show_json(told)
        return
    rows = [
        (one["stream"], one["name"], one["kind"], one["pending"], one["unsettled"], one["redelivered"],
         "" if one["behind_s"] is None else printing.span(one["behind_s"]), one["waiting"],
         "orphan" if one["orphan"] else "", "; ".join(one["drift"]))
        for one in told
    ]  # fmt: skip
    headers = [
        "STREAM",
        "NAME",
        "KIND",
        "PENDING",
        "UNSETTLED",
        "REDELIVERED",
        "BEHIND",
        "ASKING",
        "",
        "DRIFT",
    ]
    printing.table(headers, rows, less=["KIND", "REDELIVERED"])


def _consumer(reader: Reader, orphan: bool) -> dict[str, Any]:
    return {
        "stream": reader.stream,
        "name": reader.name,
        "kind": "durable" if reader.durable else "ephemeral",
        "subjects": reader.subjects,
        "pending": reader.pending,
        "unsettled": reader.unsettled,
        "redelivered": reader.redelivered,
        "waiting": reader.waiting,
        "behind_s": broker.age(reader.oldest),
        "active": reader.active.isoformat(),
        "orphan": orphan,
        "drift": reader.drift,
    }


@consumers.command()
@click.argument("stream")
@click.argument("name")
@click.option("--idle", type=click.FloatRange(min=0), default=_IDLE, show_default=True)
@click.option(
    "--lose-pending", is_flag=True, help="Also one for which messages wait: they are not handled then."
)
@printing.destructive
def delete(stream: str, name: str, *, idle: float, lose_pending: bool, **how: bool) -> None:
    """Delete an orphan. One that is read, or has messages in hand, is refused."""

    async def remove() -> dict[str, Any]:
        async with opened(os.environ) as access:
            found = await broker.reader(access.js, stream, name)
            _check(found, found.orphan(idle, datetime.now(UTC)), lose_pending)
            orphan = bool(await broker.orphans(access.js, [found], idle))
            _check(found, orphan, lose_pending)
            if not how["dry_run"]:
                printing.confirm(f"Delete consumer {name} of {stream} for good?", sure=how["yes"])
                await reach(name, access.js.delete_consumer(stream, name))
            return {**_consumer(found, orphan), "deleted": not how["dry_run"]}

    told = printing.run(remove())
    if how["as_json"]:
        printing.show_json(told)
    else:
        done = "deleted" if told["deleted"] else "would be deleted"
        click.echo(f"{printing.safe(stream)} {printing.safe(name)} {done}")


def _check(found: Reader, orphan: bool, lose_pending: bool) -> None:
    """Raises PRECONDITION for one that is no orphan, or for which messages wait."""
    if not broker.is_ours(found.stream):
        raise FiretrialError(Reason.DENIED, f"stream {found.stream} is not Firetrial's")
    if not orphan:
        raise FiretrialError(
            Reason.PRECONDITION,
            f"consumer {found.name} of {found.stream} is no orphan: {found.waiting} ask it for messages now, "
            f"{found.unsettled} are in hand, and it was active {broker.age(found.active):.0f} s ago",
        )
    if found.pending and not lose_pending:
        raise FiretrialError(
            Reason.PRECONDITION,
            f"{found.pending} messages wait for consumer {found.name} of {found.stream}; with --lose-pending "
            "they are left unhandled",
        )
