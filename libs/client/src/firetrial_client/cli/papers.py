"""`firetrial papers`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from firetrial.parser.v1.paper_pb2 import NODE_KIND_LEAF, Node, PaperState
from firetrial_client.cli import reviewing, screening
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, fields, show_json, when, word
from firetrial_client.cli.text import safe
from firetrial_client.cli.trees import paid, supported


@click.group()
def papers() -> None:
    """Papers that were submitted, and their trees."""


@papers.command("list")
@answering
def list_papers(app: App) -> None:
    """All papers."""
    with app.client() as client:
        found = list(client.list_papers())
    if app.json:
        show_json(found)
        return
    columns(
        ("PAPER", "STATE", "TASKS", "SUBMITTED", "TITLE"),
        (
            (p.id, word(PaperState, p.state), len(p.task_ids), when(p.submitted_at), p.title or p.filename)
            for p in found
        ),
    )


@papers.command("show")
@click.argument("paper")
@answering
def show_paper(app: App, paper: str) -> None:
    """One paper: its state, tasks and faults, how its tree was made and what that cost."""
    with app.client() as client:
        found = client.get_paper(paper)
    if app.json:
        show_json(found)
        return
    fields(
        [
            ("paper", found.id),
            ("state", word(PaperState, found.state)),
            ("failure", found.failure),
            ("title", found.title),
            ("file", found.filename),
            ("pages", found.pages or ""),
            ("submitted", when(found.submitted_at)),
            ("tree by", found.extraction),
            ("supported", supported(found.grounding)),
            *(("model", paid(usage)) for usage in found.usage),
            *(("task", task) for task in found.task_ids),
            *(("fault", fault) for fault in found.faults),
            *(("refused", fault) for fault in found.refused),
        ]
    )


@papers.command("tree")
@click.argument("paper")
@answering
def tree(app: App, paper: str) -> None:
    """The paper's research-problem tree."""
    with app.client() as client:
        root = client.get_tree(paper)
    if app.json:
        show_json(root)
    else:
        click.echo("\n".join(_branch(root, 0)))


def _branch(node: Node, depth: int) -> Iterator[str]:
    mark = "[uncertain] " if node.uncertain else ""
    told = node.kind != NODE_KIND_LEAF or not node.evidence or node.title.startswith(node.evidence)
    lead = "" if told else f"{node.evidence}: "
    yield f"{'  ' * depth}{node.path}  {mark}{safe(lead + node.title)}"
    for child in node.children:
        yield from _branch(child, depth + 1)


for command in (screening.screen, screening.screened, *reviewing.commands):
    papers.add_command(command)
