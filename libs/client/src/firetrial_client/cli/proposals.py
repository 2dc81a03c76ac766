"""`firetrial proposals`: handed in, listed, shown. The parser adds commands that need no server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from firetrial.parser.v1.proposal_pb2 import (
    PROPOSAL_STATE_FAILED,
    Assessment,
    Proposal,
    ProposalState,
    SupportedClaim,
)
from firetrial.plan.v1.plan_pb2 import Gate
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, fields, show_json, when, word
from firetrial_client.cli.text import safe
from firetrial_client.errors import EXIT_FAILED


@click.group()
def proposals() -> None:
    """What agents mean to do, and what is said of it before money is spent."""


@proposals.command("submit")
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--paper", default="", metavar="ID", help="Extract it from a paper that was read, instead.")
@click.option("--agent", default="", metavar="ID", help="Whose plan it is.")
@click.option("--task", default="", metavar="ID", help="The task that it is for.")
@click.option("--mask-results", is_flag=True, help="Take results out, and list them; else they are refused.")
@click.option("--wait/--no-wait", default=True, help="Wait until it is assessed (default).")
@answering
def submit(
    app: App, file: Path | None, *, paper: str, agent: str, task: str, mask_results: bool, wait: bool
) -> None:
    """Hand in the proposal in FILE (JSON) and have it assessed. Exits with 7 where that fails."""
    if (file is None) == (not paper):
        raise click.UsageError("give either FILE or --paper ID")
    told = _read(file) if file else None
    with app.client() as client:
        found = client.submit_proposal(
            told, paper_id=paper, agent_id=agent, task_id=task, mask_outcomes=mask_results
        )
        if wait:
            *_, found = client.watch_proposal(found.id)
    _tell(app, found)


@proposals.command("show")
@click.argument("proposal")
@answering
def show(app: App, proposal: str) -> None:
    """One proposal: what was said of it, what was masked, what its source bears out."""
    with app.client() as client:
        found = client.get_proposal(proposal)
    if app.json:
        show_json(found)
    else:
        _show(found)


@proposals.command("list")
@answering
def list_proposals(app: App) -> None:
    """All proposals."""
    with app.client() as client:
        found = list(client.list_proposals())
    if app.json:
        show_json(found)
        return
    rows = (
        (p.id, word(ProposalState, p.state), _bucket(p, 0), _bucket(p, 1), p.agent_id, p.task_id, p.title)
        for p in found
    )
    columns(("PROPOSAL", "STATE", "STANDARD", "AGGRESSIVE", "AGENT", "TASK", "TITLE"), rows)


def _read(file: Path) -> dict[str, object]:
    try:
        told = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise click.UsageError(f"{file} is no JSON: {error}") from None
    if not isinstance(told, dict):
        raise click.UsageError(f"{file} must hold an object, with hypothesis and experiments")
    return told


def _tell(app: App, found: Proposal) -> None:
    if app.json:
        show_json(found)
    else:
        _show(found)
    if found.state == PROPOSAL_STATE_FAILED:
        raise click.exceptions.Exit(EXIT_FAILED)


def _bucket(proposal: Proposal, at: int) -> str:
    """The verdict in short, by the order of modes."""
    if at >= len(proposal.assessments):
        return ""
    one = proposal.assessments[at]
    return f"{word(Assessment.Bucket, one.bucket)} {one.confidence}"


def _show(found: Proposal) -> None:
    fields(
        [
            ("proposal", found.id),
            ("state", word(ProposalState, found.state)),
            ("failure", found.failure),
            ("title", found.title),
            ("agent", found.agent_id),
            ("task", found.task_id),
            ("paper", found.paper_id),
            ("submitted", when(found.submitted_at)),
            ("support", _support(found)),
        ]
    )
    for line in _lines(found):
        click.echo(safe(line))


def _support(found: Proposal) -> str:
    ruled = sum(claim.ruling != SupportedClaim.RULING_UNSPECIFIED for claim in found.support.claims)
    if not ruled:
        return ""
    return f"{found.support.ratio:.0%} of {ruled} claims, by {found.support.method}"


def _lines(found: Proposal) -> Iterator[str]:
    for one in found.assessments:
        mode, bucket = word(Gate.Mode, one.mode), word(Assessment.Bucket, one.bucket)
        yield f"\n{mode}: {bucket}, confidence {one.confidence} of 5 ({one.assessor}; {one.quality})"
        yield f"  {one.rationale}"
        yield from (f"  not shown: {line}" for line in one.screened)
    yield from (f"masked in {one.part}: {one.text} ({one.reason})" for one in found.masked)
