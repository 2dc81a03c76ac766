# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""Commands of the parser: `parse` and `import firebench`. Both work without a server."""

from __future__ import annotations

import json
import os
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from firetrial_kit.errors import Fault
    from firetrial_parser.document import Document
    from firetrial_parser.firebench import ImportedTask
    from firetrial_parser.tree import Node

WIDTH = 96
ORIGIN = "firebench"


@click.command("parse")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--offline", is_flag=True, help="Read the tree off the document's structure, without a model.")
@click.option("--model", default="", help="Model that extracts the tree, at an OpenAI-compatible endpoint.")
@click.option("--base-url", default="", help="The endpoint; its key is taken from OPENAI_API_KEY.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of an outline.")
def parse(file: Path, *, offline: bool, model: str, base_url: str, as_json: bool) -> None:
    """Read a paper (PDF, Markdown, text) into sections, captions and a research-problem tree."""
    import asyncio

    if offline and (model or base_url):
        raise click.UsageError("--offline takes no --model and no --base-url")
    if base_url and not model:
        raise click.UsageError("--base-url needs --model")
    document, tree, faults = asyncio.run(_parsed(file, model, base_url))
    if as_json:
        click.echo(json.dumps(_report(document, tree, faults), ensure_ascii=False))
    else:
        click.echo("\n".join(_outline(document, tree, faults)))


async def _parsed(file: Path, model: str, base_url: str) -> tuple[Document, Node, list[Fault]]:
    from firetrial_parser.outlining import build_tree
    from firetrial_parser.reading import load, read_apart
    from firetrial_parser.validation import validate

    document = await read_apart(load(file), file.name)
    if not model:
        tree = build_tree(document)
        return document, tree, validate(tree, document)
    from firetrial_parser.extraction import extract_tree, open_extractor

    async with open_extractor(model, base_url, os.environ.get("OPENAI_API_KEY", "")) as client:
        extracted = await extract_tree(document, client)
    return document, extracted.tree, list(extracted.faults)


def _report(document: Document, tree: Node, faults: list[Fault]) -> dict[str, Any]:
    return {
        "paper": {
            "sha256": document.sha256,
            "format": document.format,
            "title": document.title,
            "authors": list(document.authors),
            "abstract": document.abstract,
            "arxiv_id": document.arxiv_id,
            "pages": len(document.pages),
        },
        "sections": [{"title": s.title, "level": s.level, "page": s.page} for s in document.sections],
        "captions": [
            {"label": c.label, "kind": c.kind, "page": c.page, "text": c.text} for c in document.captions
        ],
        "tree": tree.to_json(),
        "faults": [{"field": f.field, "value": f.value, "cure": f.cure} for f in faults],
    }


def _outline(document: Document, tree: Node, faults: list[Fault]) -> Iterator[str]:
    yield click.style(document.title or "Untitled", bold=True)
    if document.authors:
        yield ", ".join(document.authors)
    figures = sum(c.kind == "figure" for c in document.captions)
    tables = len(document.captions) - figures
    yield (
        f"{_counted(len(document.pages), 'page')} · {_counted(len(document.sections), 'section')}"
        f" · {_counted(figures, 'figure')} · {_counted(tables, 'table')}"
        f" · sha256 {document.sha256[:12]}"
    )
    yield ""
    for child in tree.children:
        yield from _branch(child, 0)
    yield ""
    if not faults:
        yield click.style("No fault found in the tree.", fg="green")
    for fault in faults:
        yield click.style("fault ", fg="red") + str(fault)


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


@click.group("import")
def import_() -> None:
    """Take in tasks that were made elsewhere."""


@import_.command("firebench")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--ratings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON that gives tasks, by folder, their difficulty and their paper's date.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
@click.pass_context
def firebench(context: click.Context, path: Path, *, ratings: Path | None, as_json: bool) -> None:
    """Read the official benchmark's repository at PATH, say what is broken in each task, and store them.

    Without a server nothing is stored.
    """
    from firetrial_parser.firebench import read_firebench
    from firetrial_parser.rating import read_ratings

    submit = (context.obj or {}).get("submit_task")
    rated = read_ratings(ratings.read_text("utf-8", "replace")) if ratings else {}
    reports = [_imported(task, submit) for task in read_firebench(path, rated)]
    if submit is None:
        click.echo("nothing was stored: no server answers (start one with `firetrial up`)", err=True)
    click.echo(json.dumps(reports, ensure_ascii=False) if as_json else "\n".join(_listed(reports)))


def _imported(task: ImportedTask, submit: Callable[..., tuple[str, str]] | None) -> dict[str, Any]:
    """What is told of a task, once it is stored where that can be done."""
    id_, version, stored = task.id, task.version, False
    if submit is not None and task.runnable:
        with _packed(task) as data:
            id_, version = submit(
                slug=task.slug,
                question=task.question,
                instruction=task.instruction,
                ground_truth=task.ground_truth,
                broken=list(task.broken),
                origin=ORIGIN,
                data=data,
                difficulty=asdict(task.rating.difficulty) if task.rating.difficulty else None,
                published=task.rating.published,
            )
        stored = True
    return {
        "id": id_,
        "version": version,
        "name": task.name,
        "question": task.question,
        "has_truth": bool(task.ground_truth),
        "runnable": task.runnable,
        "stored": stored,
        "broken": list(task.broken),
    }


@contextmanager
def _packed(task: ImportedTask) -> Iterator[Path | None]:
    """The task's data as the tar that its version was counted with."""
    from firetrial_parser.firebench import pack_data

    if task.data is None:
        yield None
        return
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        pack_data(task.data, file)
        file.flush()
        yield Path(file.name)


def _listed(reports: list[dict[str, Any]]) -> Iterator[str]:
    for report in reports:
        yield click.style(report["id"], bold=True) + ("" if report["runnable"] else "  cannot be run")
        yield from (f"    {defect}" for defect in report["broken"])
    without = sum("no data folder" in report["broken"] for report in reports)
    stored = sum(report["stored"] for report in reports)
    yield f"\n{len(reports)} tasks, {without} without a data folder, {stored} stored"


commands: list[click.Command] = [parse, import_]
