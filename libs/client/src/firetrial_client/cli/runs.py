"""`firetrial runs`: runs, what became of them, and what they left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from firetrial.judge.v1.judgement_pb2 import ClaimVerdict, Judgement, Verdict
from firetrial.runner.v1.run_pb2 import Run, Termination
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.board import state_of
from firetrial_client.cli.output import columns, fields, show_json, when, word
from firetrial_client.cli.text import safe
from firetrial_client.errors import FiretrialError, Reason
from firetrial_client.sync import Firetrial
from firetrial_client.units import format_duration, format_size


@click.group()
def runs() -> None:
    """Runs, and what they left."""


@runs.command("list")
@click.argument("experiment", required=False, default="")
@answering
def list_runs(app: App, experiment: str) -> None:
    """The runs of EXPERIMENT, or of all."""
    with app.client() as client:
        found = list(client.list_runs(experiment))
    show_json(found) if app.json else show_runs(found)


def show_runs(found: Sequence[Run]) -> None:
    """Print a table of runs."""
    columns(
        ("RUN", "AGENT", "TASK", "REPEAT", "ATTEMPT", "STATE", "WALL TIME", "REASON"),
        (
            (
                run.id,
                run.agent_id,
                run.task_id,
                run.repeat,
                run.attempt,
                "superseded" if run.superseded else state_of(run),
                _wall_time(run),
                run.reason,
            )
            for run in found
        ),
    )


def _wall_time(run: Run) -> str:
    if not run.HasField("usage"):
        return ""
    return format_duration(run.usage.wall_time.ToNanoseconds() / 1e9)


@runs.command("show")
@click.argument("run")
@answering
def show_run(app: App, run: str) -> None:
    """One run: how it ended, what it used, and each claim's verdict."""
    with app.client() as client:
        found = client.get_run(run)
        judgement = _judgement(client, run)
    if app.json:
        show_json({"run": found, "judgement": judgement})
        return
    fields(_facts(found))
    if judgement is not None:
        scores = judgement.scores
        shown = (
            f"{name} {100 * getattr(scores, name):.1f}"
            for name in ("f1", "precision", "recall")
            if scores.HasField(name)
        )
        click.echo(f"\n{', '.join(shown) or 'no score is defined'}\n")
        columns(("CLAIM", "VERDICT", "TEXT"), _claims(judgement))


def _judgement(client: Firetrial, run_id: str) -> Judgement | None:
    try:
        return client.get_judgement(run_id=run_id)
    except FiretrialError as error:
        if error.reason == Reason.NOT_FOUND:
            return None
        raise


def _facts(run: Run) -> list[tuple[str, object]]:
    usage, ending = run.usage, run.exit
    how = word(Termination, ending.termination)
    if ending.WhichOneof("status"):
        how += f" with {'code' if ending.HasField('code') else 'signal'} {ending.code or ending.signal}"
    return [
        ("run", run.id),
        ("experiment", run.experiment_id),
        ("task", run.task_id),
        ("agent", run.agent_id),
        ("repeat", run.repeat),
        ("attempt", f"{run.attempt}{' (another followed)' if run.superseded else ''}"),
        ("state", state_of(run)),
        ("reason", run.reason),
        ("exit", how),
        ("started", when(run.started_at)),
        ("ended", when(run.ended_at)),
        ("wall time", _wall_time(run)),
        ("memory", format_size(usage.max_rss_bytes) if usage.max_rss_bytes else ""),
        ("output", format_size(usage.output_bytes) if run.HasField("usage") else ""),
        ("steps", usage.steps or ""),
        ("cost", f"${usage.cost_usd:.4f}" if usage.HasField("cost_usd") else ""),
    ]


def _claims(judgement: Judgement) -> Iterable[tuple[str, str, str]]:
    def line(claim: ClaimVerdict) -> tuple[str, str, str]:
        return (claim.id, word(Verdict, claim.verdict), claim.text)

    yield from map(line, judgement.agent_claims)
    yield from map(line, judgement.truth_claims)


@runs.command("conclusion")
@click.argument("run")
@answering
def conclusion(app: App, run: str) -> None:
    """What the agent concluded."""
    with app.client() as client:
        text = client.conclusion(run)
    show_json({"run_id": run, "conclusion": text}) if app.json else click.echo(safe(text, keep="\n\t"))


@runs.command("artifacts")
@click.argument("run")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The tar to write."
)
@answering
def artifacts(app: App, run: str, out: Path) -> None:
    """The files that the agent left, as a tar. Unpack it with care: an agent made it."""
    aside = out.with_name(out.name + ".part")
    size = 0
    with app.client() as client, aside.open("wb") as file:
        for chunk in client.artifacts(run):
            size += file.write(chunk)
    aside.replace(out)
    show_json({"run_id": run, "path": str(out), "size": size}) if app.json else click.echo(
        f"{out}: {format_size(size)}"
    )
