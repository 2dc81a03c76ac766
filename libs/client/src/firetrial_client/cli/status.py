"""`firetrial status`: what runs, and how far it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import click

from firetrial.runner.v1.run_pb2 import Experiment, Run, RunState
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, fields, show_json, when
from firetrial_client.cli.runs import show_runs
from firetrial_client.errors import FiretrialError, Reason, exit_code
from firetrial_client.sync import Firetrial

_RECENT = 10


@click.command()
@click.argument("experiment", required=False)
@answering
def status(app: App, experiment: str | None) -> None:
    """The services and the latest experiments, or the runs of EXPERIMENT.

    Exits with 5 where a service does not answer.
    """
    with app.client() as client:
        if experiment is None:
            _overview(app, client)
        else:
            _experiment(app, client, experiment)


def _overview(app: App, client: Firetrial) -> None:
    health = client.health()
    if len(set(health.values()) - {"serving"}) == 1 and "serving" not in health.values():
        raise FiretrialError(Reason.UNAVAILABLE, next(iter(health.values())))
    serving = all(state == "serving" for state in health.values())
    recent = _latest(client) if health["runner"] == "serving" else []
    if app.json:
        show_json({"services": health, "experiments": recent})
    else:
        fields(health.items())
        if recent:
            click.echo()
            columns(
                ("EXPERIMENT", "SUBMITTED", "RUNS", "STATE"),
                ((e.id, when(e.submitted_at), e.expected_runs, _counts(e)) for e in recent),
            )
    if not serving:
        raise click.exceptions.Exit(exit_code(Reason.UNAVAILABLE))


def _latest(client: Firetrial) -> list[Experiment]:
    """The newest experiments first."""
    known = sorted(client.list_experiments(), key=lambda e: e.submitted_at.ToNanoseconds(), reverse=True)
    return known[:_RECENT]


def _counts(experiment: Experiment) -> str:
    counts = ", ".join(f"{number} {name}" for name, number in sorted(experiment.counts.items()) if number)
    return f"ended: {counts}" if experiment.ended else counts


def _waiting(runs: Iterable[Run]) -> Iterator[str]:
    """What runs wait for that are queued, or concluded and not tested yet, with how many do."""
    waiting = {RunState.RUN_STATE_QUEUED, RunState.RUN_STATE_CONCLUDED}
    counts = Counter(run.waiting_for for run in runs if run.state in waiting)
    for what, count in counts.most_common():
        if what:
            yield f"{count} {'run' if count == 1 else 'runs'} for {what}"


def _experiment(app: App, client: Firetrial, experiment_id: str) -> None:
    experiment = client.get_experiment(experiment_id)
    runs = list(client.list_runs(experiment_id))
    try:
        report = client.get_report(experiment_id)
    except FiretrialError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
        report = None
    if app.json:
        show_json({"experiment": experiment, "runs": runs, "report": report})
        return
    covered = f"{report.ended_runs} of {report.expected_runs} runs" if report else "none yet"
    fields(
        [
            ("experiment", experiment.id),
            ("submitted", when(experiment.submitted_at)),
            ("runs", f"{experiment.expected_runs}: {_counts(experiment)}"),
            ("waiting", "; ".join(_waiting(runs))),
            ("cancelled", "asked for" if experiment.cancel_requested else ""),
            ("report", report.failure or covered if report else covered),
        ]
    )
    click.echo()
    show_runs(runs)
