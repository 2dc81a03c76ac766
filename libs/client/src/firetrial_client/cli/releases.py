"""`firetrial releases`, `firetrial leaderboard` and `firetrial episodes`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from firetrial_client import submissions
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, fields, show_json, when
from firetrial_client.cli.report import write
from firetrial_client.plans import make_judge

# As in the SDK, which is not imported for --help.
FORMATS = ("jsonl", "parquet")


@click.group()
def releases() -> None:
    """Benchmarks that were frozen under a name."""


@releases.command("create")
@click.argument("name")
@click.option("--task", "tasks", multiple=True, required=True, metavar="ID", help="A task; may be repeated.")
@click.option("--repeats", type=click.IntRange(1, 100), default=3, show_default=True, help="Runs per task.")
@click.option("--judge", type=click.Choice(["offline", "model"]), help="Default: as the judge is set up.")
@click.option("--judge-model", default="", metavar="MODEL", help="The model that judges.")
@click.option("--judge-mode", type=click.Choice(["text", "set"]), help="As for `firetrial run`.")
@click.option("--prices", default="", metavar="SHA256", help="The price table by which runs are charged.")
@click.option("--description", default="", help="For people.")
@answering
def create(
    app: App,
    name: str,
    tasks: tuple[str, ...],
    *,
    repeats: int,
    judge: str | None,
    judge_model: str,
    judge_mode: str | None,
    prices: str,
    description: str,
) -> None:
    """Freeze tasks, judge, prompts and taxonomy as NAME. A release never changes.

    Experiments belong to it that are run with `firetrial run --release NAME`.
    """
    with app.client() as client:
        made = client.create_release(
            name,
            tasks,
            judge=make_judge(judge or "", judge_model, mode=judge_mode or ""),
            repeats=repeats,
            description=description,
            prices_sha256=prices,
        )
    show_json(made) if app.json else _show(made)


@releases.command("show")
@click.argument("name")
@answering
def show(app: App, name: str) -> None:
    """What NAME froze."""
    with app.client() as client:
        found = client.get_release(name)
    show_json(found) if app.json else _show(found)


@releases.command("list")
@answering
def list_releases(app: App) -> None:
    """All releases."""
    with app.client() as client:
        found = list(client.list_releases())
    if app.json:
        show_json(found)
        return
    columns(
        ("RELEASE", "CREATED", "TASKS", "CHECKSUM", "DESCRIPTION"),
        ((r.name, when(r.created_at), len(r.tasks), r.checksum[:12], r.description) for r in found),
    )


@releases.command("submit")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--dry-run", is_flag=True, help="Only say what is wrong.")
@answering
def submit(app: App, folder: Path, *, dry_run: bool) -> None:
    """Hand in runs that were made elsewhere: FOLDER holds bundle.json and the files that it names.

    They are judged by the release's judge, and stand on its leaderboard with where they come from.
    """
    submission = submissions.read(folder)
    with app.client() as client:
        release = client.get_release(submission.release)
        submissions.check_against(submission, release)
        slip = submission.slip(release)
        taken = (
            [] if dry_run else [client.import_run(run.path, run.header, slip=slip) for run in submission.runs]
        )
    lacking = submissions.missing(submission, release)
    if app.json:
        told = {"experiment_id": slip.experiment_id, "runs": [run.id for run in taken], "missing": lacking}
        show_json({**told, "dry_run": dry_run})
        return
    word = "would be taken" if dry_run else "taken"
    click.echo(f"{len(submission.runs)} runs {word} into {slip.experiment_id}")
    if lacking:
        click.echo(f"{lacking} runs are missing: the submission gets no rank", err=True)


@click.command()
@click.argument("experiment", required=False)
@click.option("--release", default="", metavar="NAME", help="Over all experiments of a release.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the export to a file.")
@answering
def leaderboard(app: App, experiment: str | None, release: str, out: Path | None) -> None:
    """Rank the agents of EXPERIMENT, or of all experiments of a release.

    The export is JSON with a checksum; `firetrial leaderboard-check FILE` verifies one.
    """
    if bool(experiment) == bool(release):
        raise click.UsageError("give either EXPERIMENT or --release NAME")
    with app.client() as client:
        body = client.leaderboard(release=release, experiment_id=experiment or "")
    if out is not None:
        write(out, body)
    told = json.loads(body)
    if app.json:
        show_json(told)
        return
    measures = {entry.get("measure", "f1") for entry in told["entries"]}
    score = "F1" if measures <= {"f1"} else "SCORE"
    columns(("RANK", "AGENT", "MODEL", score, "95 % INTERVAL", "RUNS", "USD/RUN", "MADE"), _rows(told))
    for line in _notes(told):
        click.echo(line, err=True)


@click.command()
@click.argument("experiment")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: that of --out, else jsonl.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file.")
@answering
def episodes(app: App, experiment: str, form: str | None, out: Path) -> None:
    """Export (task, trajectory, reward) of each run of EXPERIMENT that counts, to train agents on."""
    chosen = form or ("parquet" if out.suffix == ".parquet" else "jsonl")
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = out.with_name(out.name + ".part")
    try:
        with app.client() as client, aside.open("wb") as file:
            size = sum(file.write(piece) for piece in client.episodes(experiment, chosen))
        aside.replace(out)
    finally:
        aside.unlink(missing_ok=True)
    if app.json:
        show_json({"experiment_id": experiment, "format": chosen, "path": str(out), "size": size})
    else:
        click.echo(f"{out}: {size} bytes")


def _show(release: Any) -> None:
    fields(
        (
            ("release", release.name),
            ("created", when(release.created_at)),
            ("description", release.description),
            ("checksum", release.checksum),
            ("judge", release.judge.model or "offline"),
            ("judge config", release.judge_config_hash),
            ("calibration", release.calibration_id or "none: its scores are not called calibrated"),
            ("taxonomy", release.taxonomy_version),
            ("repeats", release.repeats),
        )
    )
    for task in release.tasks:
        click.echo(f"  {task.id}")


def _rows(told: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    for entry in told["entries"]:
        bounds = (entry.get("score_low", entry["f1_low"]), entry.get("score_high", entry["f1_high"]))
        yield (
            entry["rank"] or "–",
            entry["agent"],
            entry["model"],
            _number(entry.get("score", entry["f1"])),
            "" if None in bounds else f"{bounds[0]:.3f} to {bounds[1]:.3f}",
            f"{entry['runs_counted']} of {entry['runs_expected']}",
            _number(entry["usd_per_run"]) or "unknown",
            " ".join(part for part in (entry["provenance"].replace("_", " "), entry["made_by"]) if part),
        )


def _notes(told: dict[str, Any]) -> Iterator[str]:
    if not told["calibrated"]:
        yield "the judge is not calibrated: these scores were not measured against people"
    for one in told["left_out"]:
        yield f"left out {one['runs']} runs: {one['reason']}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
