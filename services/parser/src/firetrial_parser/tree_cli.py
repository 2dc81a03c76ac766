# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`parse` and `trees validate`: papers and trees that lie in files."""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firetrial_parser.model_cli import asker_of, model_options

if TYPE_CHECKING:
    from firetrial_kit.errors import Fault
    from firetrial_parser.asking import Bill
    from firetrial_parser.document import Document
    from firetrial_parser.tree import Grounding, Node
    from firetrial_parser.trees import Grown

WIDTH = 96
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of an outline.")


@click.command("parse")
@click.argument("file", type=click.Path(path_type=Path))
@model_options(offline="Read the tree off the document's structure", does="extracts the tree")
@click.option(
    "--context", type=click.IntRange(8_000), default=32_000, show_default=True,
    help="Tokens that the model takes in one request; longer papers are asked about in parts.",
)  # fmt: skip
@_JSON
def parse(file: Path, *, model: str, base_url: str, context: int, as_json: bool) -> None:
    """Read a paper (PDF, HTML, LaTeX, Markdown, text, or a tree as JSON) into a research-problem tree.

    Answers of a model are kept in the folder that FIRETRIAL_PARSER_CACHE_DIR names: none is paid for twice.
    """
    grown, bill = asyncio.run(_parsed(file, model, base_url, context))
    if as_json:
        click.echo(json.dumps(_report(grown, model, bill), ensure_ascii=False))
    else:
        click.echo("\n".join(_outline(grown, bill)))


async def _parsed(file: Path, model: str, base_url: str, context: int) -> tuple[Grown, Bill]:
    from firetrial_parser.asking import Bill
    from firetrial_parser.reading import load, read_apart
    from firetrial_parser.trees import Trees

    data, bill = load(file), Bill()
    document = await read_apart(data, file.name)
    async with asker_of(model, base_url) as asker:
        return await Trees(asker, context=context).of(document, data, bill, _none_known), bill


async def _none_known(_: str) -> None:
    """Without a server no paper was read before."""


def _report(grown: Grown, model: str, bill: Bill) -> dict[str, Any]:
    document, tree = grown.document, grown.tree
    return {
        "paper": {
            "sha256": document.sha256,
            "format": document.format,
            "title": tree.paper.title,
            "authors": list(tree.paper.authors),
            "venue": tree.paper.venue,
            "year": tree.paper.year,
            "abstract": document.abstract,
            "arxiv_id": document.arxiv_id,
            "pages": len(document.pages),
        },
        "sections": [{"title": s.title, "level": s.level, "page": s.page} for s in document.sections],
        "captions": [
            {"label": c.label, "kind": c.kind, "page": c.page, "text": c.text} for c in document.captions
        ],
        "tables": [asdict(table) for table in document.tables],
        "references": list(document.references),
        "tree": tree.root.to_json(),
        "faults": _faults(grown.faults),
        "extraction": tree.extraction,
        "grounding": _share(tree.grounding),
        "refused": _faults(grown.refused),
        "usage": [
            {"purpose": name, "model": model, **asdict(spent), "cost_usd": spent.known_cost}
            for name, spent in bill.spent.items()
        ],
    }


def _faults(faults: Sequence[Fault]) -> list[dict[str, str]]:
    return [{"field": f.field, "value": f.value, "cure": f.cure} for f in faults]


def _share(grounding: Grounding) -> dict[str, Any]:
    return {**asdict(grounding), "share": grounding.share}


def _outline(grown: Grown, bill: Bill) -> Iterator[str]:
    document, tree = grown.document, grown.tree
    yield click.style(tree.paper.title or "Untitled", bold=True)
    if tree.paper.authors:
        yield ", ".join(tree.paper.authors)
    yield _size(document)
    yield f"tree by {tree.extraction}{_paid(bill)}"
    yield ""
    for child in tree.root.children:
        yield from _branch(child, 0)
    yield ""
    yield from _told(grown.faults, grown.refused, tree.grounding)


def _size(document: Document) -> str:
    figures = sum(c.kind == "figure" for c in document.captions)
    tables = len(document.captions) - figures
    return (
        f"{_counted(len(document.pages), 'page')} · {_counted(len(document.sections), 'section')}"
        f" · {_counted(figures, 'figure')} · {_counted(tables, 'table')}"
        f" · sha256 {document.sha256[:12]}"
    )


def _paid(bill: Bill) -> str:
    total = bill.total
    if not total.calls and not total.cache_hits:
        return ""
    tokens = total.prompt_tokens + total.completion_tokens
    return f" · {_counted(total.calls, 'call')}, {tokens} tokens, {total.cache_hits} answers at hand"


def _told(faults: Sequence[Fault], refused: Sequence[Fault], grounding: Grounding) -> Iterator[str]:
    if grounding.share is not None:
        yield f"{grounding.share:.0%} of {grounding.statements} statements are borne out ({grounding.method})"
    if not faults:
        yield click.style("No fault found in the tree.", fg="green")
    for fault in faults:
        yield click.style("fault ", fg="red") + str(fault)
    for fault in refused:
        yield click.style("refused ", fg="yellow") + str(fault)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _branch(node: Node, depth: int) -> Iterator[str]:
    indent = "  " * depth
    page = f"  p. {node.page}" if node.page else ""
    if node.kind == "leaf":
        title = textwrap.shorten(node.title.removeprefix(node.evidence), WIDTH, placeholder=" …")
        yield f"{indent}{click.style(node.evidence, fg='cyan')}{title}{page}"
        finding = "[uncertain] no sentence states what it shows" if node.uncertain else node.conclusion
        shown = textwrap.wrap(textwrap.shorten(finding, 300, placeholder=" …"), WIDTH - len(indent) - 4)
        yield from (click.style(f"{indent}    {line}", dim=True) for line in shown)
        return
    yield click.style(f"{indent}{node.title}", bold=True) + page
    for child in node.children:
        yield from _branch(child, depth + 1)


@click.group("trees")
def trees() -> None:
    """Research-problem trees."""


@trees.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--paper", type=click.Path(path_type=Path), help="The paper that the tree is held to; else its form is."
)
@_JSON
@click.pass_context
def validate(context: click.Context, file: Path, *, paper: Path | None, as_json: bool) -> None:
    """Say what is wrong with a tree in a JSON file, fault by fault; exit 1 where something is."""
    from firetrial_parser.reading import load

    faults, grounding = asyncio.run(_validated(load(file), paper))
    if as_json:
        click.echo(
            json.dumps({"faults": _faults(faults), "grounding": _share(grounding)}, ensure_ascii=False)
        )
    else:
        click.echo("\n".join(_told(faults, (), grounding)))
    context.exit(1 if faults else 0)


async def _validated(data: bytes, paper: Path | None) -> tuple[Sequence[Fault], Grounding]:
    from firetrial_kit.errors import FiretrialError
    from firetrial_parser.grounding import grounded
    from firetrial_parser.reading import load, read_apart
    from firetrial_parser.tree import Grounding
    from firetrial_parser.tree_file import read_tree
    from firetrial_parser.validation import anchored
    from firetrial_parser.validation import validate as held

    try:
        root = read_tree(data).root
    except FiretrialError as error:
        if not error.faults:
            raise
        return error.faults, Grounding()
    if paper is None:
        return (), Grounding()
    document = await read_apart(load(paper), paper.name)
    return held(anchored(root, document), document), grounded(root, document)
