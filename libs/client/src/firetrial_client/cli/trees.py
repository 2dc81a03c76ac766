"""`firetrial trees`: what a paper asks, what it found, and the words that it rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from firetrial.parser.v1.paper_pb2 import NODE_KIND_LEAF, Grounding, ModelUsage, Node
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import show_json
from firetrial_client.cli.text import safe
from firetrial_client.trees import tree_file


@click.group()
def trees() -> None:
    """Trees of papers: what each finding rests on."""


@trees.command("show")
@click.argument("paper")
@answering
def show(app: App, paper: str) -> None:
    """The tree of a PAPER with its findings and quotations, how it was made and how much is borne out."""
    with app.client() as client:
        tree = client.get_whole_tree(paper)
    if app.json:
        show_json(tree_file(tree, paper))
        return
    facts = tree.paper
    lines = (
        facts.title,
        ", ".join(facts.authors),
        " ".join(filter(None, (facts.venue, str(facts.year or "")))),
        f"tree by {tree.extraction}" if tree.extraction else "",
        supported(tree.grounding),
    )
    click.echo("\n".join([*(safe(line) for line in lines if line), "", *_branch(tree.root, 0)]))


@trees.command("export")
@click.argument("paper")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="A file; else it is printed."
)
@answering
def export(app: App, paper: str, output: Path | None) -> None:
    """The tree of a PAPER as a JSON file, which can be edited, validated and submitted as a paper."""
    with app.client() as client:
        file = tree_file(client.get_whole_tree(paper), paper)
    if output is None:
        click.echo(json.dumps(file, ensure_ascii=False, indent=None if app.json else 2))
        return
    output.write_text(json.dumps(file, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    if app.json:
        show_json({"file": str(output)})


def supported(grounding: Grounding) -> str:
    """How much of a tree its paper bears out, "" where it states nothing."""
    if not grounding.statements:
        return ""
    return f"{grounding.supported} of {grounding.statements} statements (by {grounding.method})"


def paid(usage: ModelUsage) -> str:
    """What was asked of a model for one purpose."""
    cost = f"{usage.cost_usd:.4f} USD" if usage.HasField("cost_usd") else "price unknown"
    tokens = usage.prompt_tokens + usage.completion_tokens
    told = f"{usage.calls} calls of {usage.model}, {tokens} tokens, {cost}, {usage.cache_hits} at hand"
    return f"{usage.purpose}: {told}"


def _branch(node: Node, depth: int) -> Iterator[str]:
    indent = "  " * depth
    lead = f"{node.evidence}: " if node.evidence and not node.title.startswith(node.evidence) else ""
    yield f"{indent}{node.path}  {safe(lead + node.title)}"
    if node.kind == NODE_KIND_LEAF:
        yield f"{indent}   {safe(node.conclusion) or '[uncertain] no sentence states what it shows'}"
    for quote in node.quotes:
        yield f"{indent}   “{safe(quote.text)}”{_place(quote.page, quote.score)}"
    for child in node.children:
        yield from _branch(child, depth + 1)


def _place(page: int, score: float) -> str:
    if not page:
        return " (not found)"
    return f" p. {page}" if score == 1 else f" p. {page}, nearly so ({score:.2f})"
