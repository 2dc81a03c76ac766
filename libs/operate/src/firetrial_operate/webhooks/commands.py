"""What `firetrial webhooks` and its subcommands do."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from firetrial_kit import logs
from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_operate import contracts, printing
from firetrial_operate.webhooks import config, process, signing
from firetrial_operate.webhooks.cli import CONFIG
from firetrial_operate.webhooks.cloud_event import ping
from firetrial_operate.webhooks.dead import letters
from firetrial_operate.webhooks.dead import resend as send_again
from firetrial_operate.webhooks.endpoint import Endpoint
from firetrial_operate.webhooks.sending import Answer, Delivered, Sender
from firetrial_operate.webhooks.settings import settings


def endpoints(path: Path | None) -> list[Endpoint]:
    """Those that the file names. Raises INVALID with every fault."""
    if path is None:
        raise click.UsageError(f"which endpoints? Say --config FILE before the subcommand, or set {CONFIG}.")
    return config.load(path, os.environ, contracts.facts())


def serve(path: Path | None) -> None:
    """Send until told to stop."""
    found, told = endpoints(path), settings()
    logs.configure(told.log_level)
    printing.run(process.serve(told, found))


@click.command()
@click.argument("endpoint")
@printing.as_json
@click.pass_obj
def test(path: Path | None, endpoint: str, as_json: bool) -> None:
    """Send ENDPOINT a signed ping, once. Needs no broker."""
    to = _named(path, endpoint)

    async def work() -> Answer:
        async with _sender(to) as sender:
            now = datetime.now(UTC).isoformat()
            return await sender.send(ping(f"ping:{endpoint}:{now}", now))

    answer = printing.run(work())
    _show([{"endpoint": endpoint, **_told(answer)}], as_json=as_json)
    if not isinstance(answer, Delivered):
        sys.exit(1)


@click.command()
@click.option("--secret", required=True, metavar="REF", help="env:NAME or file:/path.")
@click.option("--id", "webhook_id", required=True, help="The header webhook-id.")
@click.option("--timestamp", required=True, help="The header webhook-timestamp.")
@click.option("--signature", required=True, help="The header webhook-signature.")
@click.option("--at", type=float, help="Seconds since 1970 that count as now.")
@printing.as_json
def verify(*, secret: str, at: float | None, as_json: bool, **told: str) -> None:
    """Say whether the body on standard input was signed so, as a receiver would."""
    names = {"webhook_id": signing.ID, "timestamp": signing.TIMESTAMP, "signature": signing.SIGNATURE}
    headers = {header: told[name] for name, header in names.items()}
    try:
        key = signing.secret_of(config.referred(secret, os.environ))
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--secret") from error
    try:
        signing.verify([key], headers, sys.stdin.buffer.read(), at or time.time())
    except signing.BadSignatureError as error:
        _show([{"valid": False, "why": str(error)}], as_json=as_json)
        sys.exit(1)
    _show([{"valid": True}], as_json=as_json)


@click.group()
def dead() -> None:
    """Events that an endpoint did not take: list, resend. `firetrial admin dead` shows and drops them."""


@dead.command("list")
@click.argument("endpoint", default="")
@printing.as_json
def list_(endpoint: str, as_json: bool) -> None:
    """List those of ENDPOINT, or of all, the newest last."""

    async def work() -> list[dict[str, Any]]:
        async with process.broker(settings()) as client:
            return [
                {"place": kept.place, "at": f"{kept.letter.at:%Y-%m-%d %H:%M}", "endpoint": kept.endpoint,
                 "event": kept.letter.subject, "error": kept.letter.error}
                async for kept in letters(client.jetstream(timeout=10), endpoint)
            ]  # fmt: skip

    _show(printing.run(work()), as_json=as_json)


@dead.command("resend")
@click.argument("endpoint")
@click.argument("places", nargs=-1, type=click.IntRange(min=1))
@click.option("--all", "everything", is_flag=True, help="All of them, the oldest first.")
@printing.as_json
@click.pass_obj
def resend(
    path: Path | None, endpoint: str, places: tuple[int, ...], *, everything: bool, as_json: bool
) -> None:
    """Send ENDPOINT the events at PLACES once more; those that it takes are kept no longer."""
    if bool(places) is everything:
        raise click.UsageError("Which? Name places as `list` shows them, or say --all.")
    to = _named(path, endpoint)

    async def work() -> Sequence[tuple[int, Answer]]:
        async with _sender(to) as sender, process.broker(settings()) as client:
            return await send_again(client.jetstream(timeout=10), to, sender, places)

    answers = printing.run(work())
    _show([{"place": place, **_told(answer)} for place, answer in answers], as_json=as_json)
    if not all(isinstance(answer, Delivered) for _, answer in answers):
        sys.exit(1)


def _named(path: Path | None, name: str) -> Endpoint:
    found = {one.name: one for one in endpoints(path)}
    if name not in found:
        fault = Fault("endpoint", name, f"must be one of {', '.join(found)}")
        raise FiretrialError(Reason.NOT_FOUND, f"no endpoint is called {name!r}", faults=[fault])
    return found[name]


@asynccontextmanager
async def _sender(endpoint: Endpoint) -> AsyncIterator[Sender]:
    sender = Sender(endpoint, SystemClock())
    try:
        yield sender
    finally:
        await sender.aclose()


def _told(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Delivered):
        return {"result": "delivered", "status": answer.status}
    return {"result": type(answer).__name__.lower(), "why": answer.why}


def _show(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        printing.show_json(rows)
    elif rows:
        printing.table([name.upper() for name in rows[0]], [[*row.values()] for row in rows])
