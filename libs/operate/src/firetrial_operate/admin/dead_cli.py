"""`firetrial admin dead`: messages that were given up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from firetrial_operate import printing
from firetrial_operate.access import Access, opened
from firetrial_operate.admin.dead import DeadLetters, Kept, decoded
from firetrial_operate.admin.marks import marks

_PLACES = click.argument("places", nargs=-1, type=click.IntRange(min=1), required=True)


@click.group()
def dead() -> None:
    """Messages that were given up: list, show, requeue, drop.

    A letter is known by its place, the number that `list` shows. It is kept for 90 days.
    """


async def _letters(access: Access) -> DeadLetters:
    return DeadLetters(access.js, await marks(access))


def _told(kept: Kept) -> dict[str, Any]:
    told = {"place": kept.place, "requeued": kept.requeued, **asdict(kept.letter), "whole": kept.letter.whole}
    del told["data"]
    return told


@dead.command("list")
@click.option("--consumer", default="", help="Those that this consumer gave up.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The newest.")
@printing.as_json
def list_(consumer: str, limit: int, as_json: bool) -> None:
    """List dead letters, the newest last."""

    async def read() -> list[Kept]:
        async with opened(os.environ) as access:
            found: list[Kept] = []
            async for kept in (await _letters(access)).all(consumer):
                found = [*found[-limit + 1 :], kept] if limit > 1 else [kept]
            return found

    found = printing.run(read())
    if as_json:
        # Without their bytes nobody can say whether they are whole.
        printing.show_json([{k: v for k, v in _told(kept).items() if k != "whole"} for kept in found])
        return
    rows = [
        (kept.place, f"{kept.letter.at:%Y-%m-%d %H:%M}", kept.letter.consumer, kept.letter.subject,
         kept.letter.deliveries, kept.letter.reason, kept.requeued or "", kept.letter.error[:80])
        for kept in found
    ]  # fmt: skip
    headers = ["PLACE", "AT", "CONSUMER", "SUBJECT", "TRIES", "REASON", "REQUEUED", "ERROR"]
    printing.table(headers, rows, less=["TRIES", "SUBJECT"])


@dead.command()
@click.argument("place", type=click.IntRange(min=1))
@printing.as_json
def show(place: int, as_json: bool) -> None:
    """Show one letter with its headers and its message, decoded where its type is one of ours."""

    async def read() -> Kept:
        async with opened(os.environ) as access:
            return await (await _letters(access)).get(place)

    kept = printing.run(read())
    told = {**_told(kept), "payload": decoded(kept.letter)}
    if as_json:
        printing.show_json(told)
        return
    for name, value in told.items():
        if name not in ("headers", "payload"):
            click.echo(f"{name}: {printing.safe(value)}")
    for name, value in kept.letter.headers.items():
        click.echo(f"header {printing.safe(name)}: {printing.safe(value)}")
    click.echo(f"type: {printing.safe(told['payload']['type'])}")
    printing.tree(told["payload"].get("message", told["payload"].get("bytes")))


@dead.command()
@_PLACES
@click.option("--again", is_flag=True, help="Also those that were sent again before.")
@click.option("--unverified", is_flag=True, help="Also facts that their stream does not hold (any more).")
@printing.destructive
def requeue(places: Sequence[int], yes: bool, dry_run: bool, as_json: bool, **ways: bool) -> None:
    """Send messages again where they were sent first, each once.

    Every consumer of the subject gets it; those that are done with it know that. A fact must be in its stream
    as the letter has it: a service that was broken into could write letters, too.
    """

    async def send() -> list[dict[str, Any]]:
        async with opened(os.environ) as access:
            letters = await _letters(access)
            kept = [await letters.get(place) for place in places]
            if dry_run:
                return [_sent(one, None if ways["again"] or not one.requeued else False) for one in kept]
            printing.confirm(f"Send {len(kept)} messages again?", sure=yes)
            return [_sent(one, await letters.requeue(one.place, **ways)) for one in kept]

    _show(printing.run(send()), {True: "sent", False: "was sent before", None: "would be sent"}, as_json)


def _sent(kept: Kept, done: bool | None) -> dict[str, Any]:
    return {"place": kept.place, "subject": kept.letter.subject, "done": done}


@dead.command()
@_PLACES
@printing.destructive
def drop(places: Sequence[int], yes: bool, dry_run: bool, as_json: bool) -> None:
    """Remove letters for good."""

    async def remove() -> list[dict[str, Any]]:
        async with opened(os.environ) as access:
            letters = await _letters(access)
            kept = [await letters.get(place) for place in places]
            if not dry_run:
                printing.confirm(f"Remove {len(kept)} dead letters for good?", sure=yes)
                for one in kept:
                    await letters.drop(one.place)
            return [_sent(one, None if dry_run else True) for one in kept]

    _show(printing.run(remove()), {True: "dropped", None: "would be dropped"}, as_json)


def _show(done: list[dict[str, Any]], words: dict[bool | None, str], as_json: bool) -> None:
    if as_json:
        printing.show_json(done)
        return
    for one in done:
        click.echo(f"{one['place']}  {printing.safe(one['subject'])}  {words[one['done']]}")
