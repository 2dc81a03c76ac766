"""`firetrial runs`: runs, what became of them, and what they left."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from firetrial.judge.v1.judgement_pb2 import ClaimVerdict, Judgement, SealedResult, Verdict
from firetrial.runner.v1.run_pb2 import Provenance, Run, Termination
from firetrial_client import atif
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.board import state_of
from firetrial_client.cli.contacts import contacts, in_short
from firetrial_client.cli.logs import line
from firetrial_client.cli.output import columns, fields, show_json, when, word
from firetrial_client.cli.report import write
from firetrial_client.cli.text import safe
from firetrial_client.errors import FiretrialError, Reason
from firetrial_client.sync import Firetrial
from firetrial_client.units import format_duration, format_size

VALIDITY = "validity"
_CONDITIONS = {"C1": "integrity", "C2": "completeness", "C3": "sufficiency"}


@click.group()
def runs() -> None:
    """Runs, and what they left."""


runs.add_command(contacts)


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
                run.reason or (f"waits for {run.waiting_for}" if run.waiting_for else ""),
            )
            for run in found
        ),
    )


def _wall_time(run: Run) -> str:
    if not run.usage.HasField("wall_time"):
        return ""
    return format_duration(run.usage.wall_time.ToNanoseconds() / 1e9)


def _gpu_time(run: Run) -> str:
    usage = run.usage
    if not usage.gpu_time.ToNanoseconds():
        return ""
    told = format_duration(usage.gpu_time.ToNanoseconds() / 1e9)
    if usage.HasField("gpu_utilisation"):
        told += f", {usage.gpu_utilisation:.0%} of it in use"
    if usage.HasField("max_gpu_memory_bytes"):
        told += f", {format_size(usage.max_gpu_memory_bytes)} at most"
    return told


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
    if judgement is not None and judgement.scores.measure == VALIDITY:
        click.echo("\n" + "\n".join(_graded(judgement)))
    elif judgement is not None and judgement.HasField("sealed"):
        click.echo()
        fields(_measured(judgement.sealed))
    elif judgement is not None:
        scores = judgement.scores
        shown = (
            f"{name} {100 * getattr(scores, name):.1f}"
            for name in ("f1", "precision", "recall")
            if scores.HasField(name)
        )
        click.echo(f"\n{', '.join(shown) or 'no score is defined'}\n")
        columns(("CLAIM", "VERDICT", "TEXT"), _claims(judgement))


def _graded(judgement: Judgement) -> Iterator[str]:
    """Of a follow-up run: whether it is valid, how each condition held, and what has to be known of that."""
    yield "valid" if judgement.scores.score >= 1 else "not valid"
    for one in judgement.conditions:
        p = f"p {one.p:.3f}" if one.HasField("p") else f"p undefined ({one.unscored} without a grade)"
        held = "strict" if one.strict else "almost" if one.almost else "fails" if one.HasField("p") else ""
        name = f"{one.name} {_CONDITIONS.get(one.name, ''):13}"
        yield f"{name} {one.passed} of {one.total} passed, {p}  {held}".rstrip()
    yield from map(safe, judgement.notes)
    if judgement.HasField("grade"):
        yield f"every question: {safe(judgement.grade.uri)}"


def _measured(sealed: SealedResult) -> list[tuple[str, object]]:
    """Of a repository run: what its best step came to in the sealed test, and what was found on the way."""

    def figure(name: str) -> str:
        there = sealed.HasField(name)  # type: ignore[arg-type]  # one of its names
        return f"{getattr(sealed, name):.6g}" if there else "unknown"

    return [
        ("normalized improvement", figure("test_improvement")),
        ("tested step", sealed.step or "none"),
        ("test", figure("test")),
        ("validation", figure("validation")),
        ("no credit", sealed.no_credit),
        *(("finding", finding) for finding in sealed.findings),
    ]


def _judgement(client: Firetrial, run_id: str) -> Judgement | None:
    try:
        return client.get_judgement(run_id=run_id)
    except FiretrialError as error:
        # Why it could not be judged is told as the run's reason.
        if error.reason in {Reason.NOT_FOUND, Reason.PRECONDITION}:
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
        ("waits for", run.waiting_for),
        ("made", word(Provenance, run.provenance) if run.provenance > Provenance.PROVENANCE_HERE else ""),
        ("lacking", ", ".join(run.lacking)),
        ("exit", how),
        ("started", when(run.started_at)),
        ("ended", when(run.ended_at)),
        ("wall time", _wall_time(run)),
        ("memory", format_size(usage.max_rss_bytes) if usage.max_rss_bytes else ""),
        ("GPU time", _gpu_time(run)),
        ("output", format_size(usage.output_bytes) if run.HasField("usage") else ""),
        ("steps", usage.steps or ""),
        ("contacts", in_short(run)),
        ("cost", f"${usage.cost_usd:.4f}" if usage.HasField("cost_usd") else ""),
    ]


def _claims(judgement: Judgement) -> Iterable[tuple[str, str, str]]:
    def line(claim: ClaimVerdict) -> tuple[str, str, str]:
        return (claim.id, word(Verdict, claim.verdict), claim.text)

    yield from map(line, judgement.agent_claims)
    yield from map(line, judgement.truth_claims)


@runs.command("page")
@click.argument("run")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The HTML file to write."
)
@answering
def page(app: App, run: str, out: Path) -> None:
    """RUN as one HTML file: its claims, why they are wrong, and its trajectory, step by step."""
    with app.client() as client:
        body = client.render_run(run)
    write(out, body)
    show_json({"run_id": run, "path": str(out), "size": len(body)}) if app.json else click.echo(
        f"{out}: {format_size(len(body))}"
    )


@runs.command("steps")
@click.argument("run")
@click.option("--from", "from_step", type=click.IntRange(min=1), default=1, help="Begin at this step.")
@click.option("--count", type=click.IntRange(1, 1000), default=100, show_default=True, help="Steps to show.")
@answering
def steps(app: App, run: str, from_step: int, count: int) -> None:
    """A page of RUN's trajectory, from any step on."""
    with app.client() as client:
        page = client.list_steps(run, from_step=from_step, page_size=count)
    found = [json.loads(line) for line in page.lines.splitlines()]
    if app.json:
        show_json({"steps": found, "total": page.total, "next_step": page.next_step})
        return
    for step in found:
        click.echo(f"{step['step']:>8}  {line(step)}")
    if page.next_step:
        click.echo(f"\nof {page.total} steps; the next page: --from {page.next_step}", err=True)


@runs.command("export")
@click.argument("run")
@click.option("--format", "form", type=click.Choice(["atif"]), default="atif", show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file; default: print it.")
@answering
def export(app: App, run: str, form: str, out: Path | None) -> None:  # noqa: ARG001 - one format by now
    """RUN's trajectory in a format that others read: ATIF is one JSON document."""
    with app.client() as client:
        found = client.get_run(run)
        said = client.conclusion(run) if found.conclusion.uri else ""
        pieces = atif.document(found, client.trajectory(run), said)
        if out is None:
            for piece in pieces:
                click.echo(piece, nl=False)
            return
        aside = out.with_name(out.name + ".part")
        with aside.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        aside.replace(out)
    show_json({"run_id": run, "path": str(out)}) if app.json else click.echo(str(out))


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
