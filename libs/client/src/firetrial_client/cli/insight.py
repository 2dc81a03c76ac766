"""`firetrial contamination` and `firetrial process`: what the analyzer found out beside the scores."""

from __future__ import annotations

from collections.abc import Iterator

import click
from google.protobuf.message import Message

from firetrial.analyzer.v1.contamination_pb2 import Contamination
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, fields, show_json
from firetrial_client.cli.text import safe


@click.command()
@click.argument("experiment")
@answering
def contamination(app: App, experiment: str) -> None:
    """Whether the scores of EXPERIMENT look remembered, and what the bare model knew beforehand."""
    with app.client() as client:
        found = client.get_contamination(experiment)
    if app.json:
        show_json(found)
        return
    if not found.models:
        click.echo("its agents name no model: nothing could be remembered")
    for agent in found.models:
        verdict = agent.verdict.replace("_", " ")
        cutoff = agent.cutoff or "an unknown cutoff"
        click.echo(safe(f"{agent.agent_id} with {agent.model} ({cutoff}): {verdict}. {agent.reason}"))
        rows = [(c.difficulty, c.published, c.tasks, _f1(c, "mean"), _f1(c, "std")) for c in agent.cells]
        columns(
            ("  DIFFICULTY", "PUBLISHED", "TASKS", "MEAN F1", "STD"), ((f"  {r[0]}", *r[1:]) for r in rows)
        )
        click.echo()
    if found.probes:
        columns(("TASK", "AGENT", "F1", "BARE MODEL"), _beside(found))


def _beside(found: Contamination) -> Iterator[tuple[str, ...]]:
    for probe in found.probes:
        yield probe.task_id, probe.agent_id, _f1(probe, "agent_f1"), _f1(probe, "probe_f1")


def _f1(message: Message, name: str) -> str:
    return f"{getattr(message, name):.3f}" if message.HasField(name) else "–"


@click.command()
@click.argument("run")
@answering
def process(app: App, run: str) -> None:
    """How RUN explored and improved: success and pace of its steps, and how far its code went."""
    with app.client() as client:
        found = client.get_process_metrics(run)
    if app.json:
        show_json(found)
        return
    known = [(field.name, value) for field, value in found.ListFields() if field.name != "best_so_far"]
    fields((name.replace("_", " "), _shown(value)) for name, value in known)
    if found.best_so_far:
        click.echo("best so far: " + " ".join(f"{value:.4g}" for value in found.best_so_far))


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
