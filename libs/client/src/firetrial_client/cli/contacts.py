"""`firetrial runs contacts`: whom a run spoke to outside, and whom it was kept off."""

from __future__ import annotations

from collections import Counter

import click

from firetrial.runner.v1.run_pb2 import Contact, Run
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, plain, show_json
from firetrial_client.units import format_size

_OTHERS = "(others)"


def decision(contact: Contact) -> str:
    """What the policy said: allowed, refused, or denied where a rule names it as one to keep off."""
    if contact.denied:
        return "denied"
    return "refused" if contact.refused else "allowed"


def in_short(run: Run) -> str:
    """In words, for example "2 allowed, 1 denied (paper.example)"; "" where there were none."""
    counts = Counter(map(decision, run.contacts))
    told = ", ".join(f"{counts[name]} {name}" for name in ("allowed", "refused", "denied") if counts[name])
    denied = dict.fromkeys(c.host or _OTHERS for c in run.contacts if c.denied)
    return f"{told} ({', '.join(denied)})" if denied else told


@click.command("contacts")
@click.argument("run")
@answering
def contacts(app: App, run: str) -> None:
    """Hosts outside that RUN spoke to or tried to: port, decision, bytes.

    "denied" is a host that its task or plan names as one to keep off, such as its source paper's; it was
    refused as well, and is a finding on the run.
    """
    with app.client() as client:
        found = client.get_run(run)
    if app.json:
        told = [{**plain(contact), "decision": decision(contact)} for contact in found.contacts]
        show_json({"run_id": found.id, "contacts": told})
        return
    columns(
        ("HOST", "PORT", "DECISION", "CONNECTIONS", "BYTES"),
        (
            (c.host or _OTHERS, c.port or "", decision(c), c.requests, format_size(c.bytes))
            for c in found.contacts
        ),
    )
