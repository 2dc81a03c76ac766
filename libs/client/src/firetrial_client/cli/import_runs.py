"""`firetrial import runs`: runs that were made elsewhere, to be judged and compared here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from firetrial.plan.v1.plan_pb2 import Plan, Slip
from firetrial.runner.v1.run_pb2 import Experiment, Run
from firetrial_client import elsewhere
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.board import state_of
from firetrial_client.cli.output import columns, show_json
from firetrial_client.elsewhere import FORMATS, Elsewhere
from firetrial_client.errors import EXIT_INVALID, FiretrialError
from firetrial_client.plans import make_judge, make_plan
from firetrial_client.sync import Firetrial


@click.group("import")
def import_group() -> None:
    """Bring in what was made elsewhere."""


@import_group.command("runs")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--task", multiple=True, metavar="[NAME=]ID", help="The task, of all or of those of a name.")
@click.option("--experiment", default="", metavar="ID", help="Join this one; default: one of its own.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), help="How the files are to be read.")
@click.option("--agent", default="", metavar="NAME", help="Whose runs they are, where the files do not say.")
@click.option("--model", default="", metavar="NAME", help="Its model, where the files do not say.")
@click.option(
    "--first-repeat", type=click.IntRange(1, 100), default=1, show_default=True, help="Where repeats begin."
)
@click.option("--judge", type=click.Choice(["offline", "model"]), help="Default: as the judge is set up.")
@click.option("--judge-model", default="", metavar="MODEL", help="The model that judges.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and what is wrong, and do nothing.")
@answering
def import_runs(
    app: App,
    path: Path,
    *,
    task: tuple[str, ...],
    experiment: str,
    form: str | None,
    agent: str,
    model: str,
    first_repeat: int,
    judge: str | None,
    judge_model: str,
    dry_run: bool,
) -> None:
    """Take the runs in PATH as finished ones: a file, or a folder like the official `log`.

    Each is judged, and all make up one experiment with a report. Where a file cannot be taken, the others
    are, and the exit code is 2.
    """
    chosen = dict(_named(option) for option in task)
    with app.client() as client:
        tasks = [(one.id, one.id.removesuffix(f"-{one.version}")) for one in client.list_tasks()]
        found = elsewhere.find(path, form=form or "", agent=agent, model=model)
        found = elsewhere.placed(found, tasks, chosen, first_repeat)
        config = make_judge(judge or "", judge_model)
        good = [run for run in found if not run.faults]
        slip = _slip(client, good, experiment, make_plan(["-"], judge=config)) if good else Slip()
        rows = [_row(run) for run in found] if dry_run else [_taken(client, run, slip) for run in found]
    _show(app, slip, rows, dry_run=dry_run)
    if not found:
        raise click.ClickException(f"{path} holds no log of a run")
    if any(row["faults"] for row in rows):
        raise SystemExit(EXIT_INVALID)


def _named(option: str) -> tuple[str, str]:
    name, _, id_ = option.rpartition("=")
    return name, id_


def _slip(client: Firetrial, runs: Sequence[Elsewhere], experiment: str, plan: Plan) -> Slip:
    """The routing slip of all runs: of an experiment of their own, or of one that they join."""
    agents, repeats = sorted({run.agent_id for run in runs}), max(run.repeat for run in runs)
    if not experiment:
        plan.agents[:] = agents
        plan.repeats = repeats
        return Slip(experiment_id=_own_id(runs, plan), expected_runs=len(runs), plan=plan)
    known = client.get_experiment(experiment)
    grown = Plan()
    grown.CopyFrom(known.plan)
    grown.agents.extend(agent for agent in agents if agent not in known.plan.agents)
    grown.repeats = max(repeats, known.plan.repeats)
    expected = expected_runs(known, list(client.list_runs(experiment)), runs)
    return Slip(experiment_id=experiment, expected_runs=expected, plan=grown)


def expected_runs(known: Experiment, there: Sequence[Run], runs: Sequence[Elsewhere]) -> int:
    """How many runs an experiment comes to with these: those that it does not expect already are added."""
    slots = {(run.task_id, run.agent_id, run.repeat) for run in there}
    if len(slots) >= known.expected_runs:
        new = [run for run in runs if (run.task_id, run.agent_id, run.repeat) not in slots]
    else:
        # Some of its runs are still to come; those of its own agents may be these.
        plan = known.plan
        new = [run for run in runs if run.agent_id not in plan.agents or run.repeat > plan.repeats]
    return known.expected_runs + len(new)


def _own_id(runs: Sequence[Elsewhere], plan: Plan) -> str:
    """The same runs and plan are the same experiment."""
    found = hashlib.sha256(plan.SerializeToString(deterministic=True))
    for run in runs:
        found.update(f"{run.task_id}\0{run.agent_id}\0{run.repeat}\0".encode())
        with run.path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return f"e-{found.hexdigest()[:16]}"


def _taken(client: Firetrial, run: Elsewhere, slip: Slip) -> dict[str, Any]:
    if run.faults:
        return _row(run)
    try:
        return _row(run, client.import_run(run.path, run.header, slip=slip))
    except FiretrialError as error:
        if not error.faults:
            raise
        return _row(replace(run, faults=tuple(map(str, error.faults))))


def _row(run: Elsewhere, taken: Run | None = None) -> dict[str, Any]:
    return {
        "path": str(run.path),
        "format": run.format,
        "agent": run.agent,
        "model": run.model,
        "task": run.task,
        "task_id": run.task_id,
        "repeat": run.repeat,
        "run_id": taken.id if taken else "",
        "state": state_of(taken) if taken else "",
        "reason": taken.reason if taken else "",
        "lacking": list(taken.lacking) if taken else [],
        "faults": list(run.faults),
    }


def _show(app: App, slip: Slip, rows: list[dict[str, Any]], *, dry_run: bool) -> None:
    if app.json:
        told = {"experiment_id": slip.experiment_id, "expected_runs": slip.expected_runs}
        show_json({**told, "dry_run": dry_run, "files": rows})
        return
    columns(
        ("FILE", "AGENT", "MODEL", "TASK", "REPEAT", "RUN", "STATE", "WHAT IS WRONG"),
        (
            (
                row["path"],
                row["agent"],
                row["model"],
                row["task_id"] or row["task"],
                row["repeat"] or "",
                row["run_id"],
                row["state"],
                "; ".join(row["faults"]) or row["reason"],
            )
            for row in rows
        ),
    )
    if slip.experiment_id:
        click.echo(f"\nexperiment {slip.experiment_id}: see firetrial report {slip.experiment_id}")
