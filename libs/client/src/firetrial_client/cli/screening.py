"""`firetrial papers screen` and `screened`: many papers to choose from, and what was found in each."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from firetrial.parser.v1 import screening_pb2 as pb
from firetrial.parser.v1.paper_pb2 import PAPER_STATE_FAILED
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, fields, plain, show_json, word
from firetrial_client.cli.text import safe
from firetrial_client.errors import FiretrialError, Reason
from firetrial_client.sync import Firetrial

OUTCOMES = tuple(name.removeprefix("SCREENING_OUTCOME_").lower() for name in pb.ScreeningOutcome.keys()[1:])
KEPT = ("fit", "uncertain")
_ENDINGS = (
    ".pdf", ".html", ".htm", ".xhtml", ".md", ".markdown", ".txt", ".text", ".tex", ".tar", ".gz", ".tgz",
    ".zip",
)  # fmt: skip
_ENDED_EARLY = {pb.SCREENING_STATE_STOPPED, pb.SCREENING_STATE_CANCELLED}
_WHY = 60


@click.command("screen")
@click.argument("items", type=click.Path(exists=True, path_type=Path))
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), help="Default: by the file's ending.")
@click.option("--offline", is_flag=True, help="Ask no model, though one is set up.")
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="For the whole batch.")
@click.option("--retry-errors", is_flag=True, help="Look again at items that ended as an error.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write all results, one a line.")
@click.option("--no-wait", is_flag=True, help="Hand the batch in and return.")
@answering
def screen(
    app: App,
    items: Path,
    *,
    form: str | None,
    offline: bool,
    max_cost: float | None,
    retry_errors: bool,
    out: Path | None,
    no_wait: bool,
) -> None:
    """Choose from the papers in ITEMS: a file of them, JSON lines or CSV, or a folder of papers.

    An item has id, title and abstract, and may have url and published. Three stages look at it: keywords, the
    primary contribution, three criteria. What passes waits in `firetrial papers queue`. Interrupted, the same
    command goes on where it was and pays for nothing twice.
    """
    with app.client() as client, _batch(client, items, form) as (batch, format_):
        screening = client.submit_screening(
            batch,
            format=format_,
            source=str(items),
            offline=offline,
            max_cost_usd=max_cost,
            retry_errors=retry_errors,
        )
        if not no_wait:
            screening = _watched(client, screening, quiet=app.json)
        if out is not None:
            _write(out, client, screening.id)
        kept = [] if out is not None or no_wait else list(client.screened_papers(screening.id, KEPT))
    if app.json:
        show_json({"screening": screening, "papers": kept, "path": str(out) if out else ""})
    else:
        _show(screening, kept, out)
    if screening.state in _ENDED_EARLY:
        raise FiretrialError(Reason.PRECONDITION, f"screening {screening.id} ended early: {screening.reason}")


@contextmanager
def _batch(client: Firetrial, items: Path, form: str | None) -> Iterator[tuple[Path, str]]:
    """The file to upload and its format."""
    if items.is_file():
        yield items, form or ("csv" if items.suffix.lower() == ".csv" else "jsonl")
        return
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for path in sorted(items.rglob("*")):
            if path.is_file() and path.name.lower().endswith(_ENDINGS):
                line = {"id": path.relative_to(items).as_posix(), **_submitted(client, path)}
                file.write(json.dumps(line) + "\n")
        file.flush()
        yield Path(file.name), "jsonl"


def _submitted(client: Firetrial, path: Path) -> dict[str, str]:
    """A paper of a folder, once it is read: its id, or why it cannot be taken."""
    try:
        paper = client.submit_paper(path).paper
        for changed in client.watch_paper(paper.id):
            paper = changed
            if paper.HasField("document"):
                break
    except FiretrialError as error:
        if error.reason not in {Reason.INVALID, Reason.TOO_LARGE}:
            raise
        return {"error": error.message}
    if paper.state == PAPER_STATE_FAILED and not paper.HasField("document"):
        return {"error": paper.failure}
    return {"paper_id": paper.id}


def _watched(client: Firetrial, screening: pb.Screening, *, quiet: bool) -> pb.Screening:
    with _progress(quiet) as tell:
        for changed in client.watch_screening(screening.id):
            screening = changed
            tell(changed)
    return screening


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[pb.Screening], None]]:
    """Tells of a batch under way: in place on a terminal, a line for each change elsewhere."""
    terminal = sys.stderr.isatty()
    told = ""

    def tell(screening: pb.Screening) -> None:
        nonlocal told
        line = _line(screening)
        if line != told and not quiet:
            click.echo(f"\r\x1b[K{line}" if terminal else line, err=True, nl=not terminal)
            told = line

    yield tell
    if told and terminal:
        click.echo(err=True)


def _line(screening: pb.Screening) -> str:
    counts = screening.counts
    parts = [f"{_looked_at(counts)} of {counts.items} papers", *_by_outcome(counts)]
    cost = _cost(screening)
    return "  ".join([*parts, cost] if cost else parts)


def _looked_at(counts: pb.ScreeningCounts) -> int:
    return sum(number for name, number in _numbers(counts) if name != "items")


def _numbers(counts: pb.ScreeningCounts) -> list[tuple[str, int]]:
    return [(field.name, getattr(counts, field.name)) for field in pb.ScreeningCounts.DESCRIPTOR.fields]


def _by_outcome(counts: pb.ScreeningCounts) -> Iterator[str]:
    for name, number in _numbers(counts):
        if number and name != "items":
            yield f"{number} {name.replace('_', ' ')}"


def _cost(screening: pb.Screening) -> str:
    """What models cost, "" where none was asked."""
    asked = [use for use in screening.usage if use.calls]
    if not asked:
        return ""
    if not all(use.HasField("cost_usd") for use in asked):
        return f"{sum(use.calls for use in asked)} calls, price unknown"
    return f"${sum(use.cost_usd for use in asked):.4f}"


def _write(out: Path, client: Firetrial, screening_id: str) -> None:
    """All results as lines of JSON; what was there is replaced once all are written."""
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = out.with_name(out.name + ".part")
    try:
        with aside.open("w", encoding="utf-8", errors="backslashreplace") as file:
            for paper in client.screened_papers(screening_id):
                _write_line(file, paper)
        aside.replace(out)
    finally:
        aside.unlink(missing_ok=True)


def _write_line(file: IO[str], paper: Any) -> None:
    file.write(json.dumps(plain(paper), ensure_ascii=False) + "\n")


def _show(screening: pb.Screening, kept: list[pb.ScreenedPaper], out: Path | None) -> None:
    fields(
        [
            ("screening", screening.id),
            ("state", word(pb.ScreeningState, screening.state)),
            ("decided by", screening.model or "words alone, criteria left to people"),
            ("papers", f"{screening.counts.items}: {', '.join(_by_outcome(screening.counts))}"),
            ("cost", _cost(screening)),
            ("results", out or ""),
        ]
    )
    if kept:
        click.echo()
        columns(("REVIEW", "OUTCOME", "ITEM", "TITLE"), map(_kept, kept))


def _kept(paper: pb.ScreenedPaper) -> tuple[str, str, str, str]:
    outcome = word(pb.ScreeningOutcome, paper.outcome)
    return paper.review_id, outcome, paper.item.id, " ".join(paper.item.title.split())


@click.command("screened")
@click.argument("screening", required=False)
@click.option("--outcome", multiple=True, type=click.Choice(OUTCOMES), help="Only these. Repeatable.")
@answering
def screened(app: App, screening: str | None, outcome: tuple[str, ...]) -> None:
    """What was found in each paper of SCREENING and why; without it, all screenings."""
    with app.client() as client:
        if screening is None:
            _list(app, list(client.list_screenings()))
            return
        found = list(client.screened_papers(screening, outcome))
    if app.json:
        show_json(found)
    else:
        columns(("PLACE", "OUTCOME", "ITEM", "WHY"), map(_why, found))


def _list(app: App, found: list[pb.Screening]) -> None:
    if app.json:
        show_json(found)
        return
    columns(
        ("SCREENING", "STATE", "PAPERS", "KEPT", "ERRORS", "COST", "SOURCE"),
        (
            (
                one.id,
                word(pb.ScreeningState, one.state),
                f"{_looked_at(one.counts)}/{one.counts.items}",
                one.counts.fit + one.counts.uncertain,
                one.counts.errors,
                _cost(one),
                one.source,
            )
            for one in found
        ),
    )


def _why(paper: pb.ScreenedPaper) -> tuple[object, ...]:
    return paper.place, word(pb.ScreeningOutcome, paper.outcome), paper.item.id, reason(paper)


def reason(paper: pb.ScreenedPaper) -> str:
    """Why a paper has its outcome, in one line."""
    if paper.error:
        return paper.error
    if paper.outcome == pb.SCREENING_OUTCOME_OFF_TOPIC:
        hits = ", ".join(f"{hit.rule}: “{hit.text}” in the {hit.where}" for hit in paper.hits)
        return f"keywords found: {hits or 'none'}"
    if not paper.criteria:
        return f"{word(pb.ContributionKind, paper.contribution.kind)}: {paper.contribution.reason}"
    return ", ".join(
        f"{word(pb.Criterion, one.criterion).replace('_', ' ')}: {word(pb.Met, one.met)}"
        for one in paper.criteria
    )


def shown(text: str) -> str:
    """A stranger's text for one line of a terminal."""
    return safe(" ".join(text.split()))
