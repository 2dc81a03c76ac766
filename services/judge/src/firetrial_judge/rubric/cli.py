# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""The commands `rubric score`, `rubric grade` and `rubric agreement`."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firetrial_judge.terminal import JSON_OPTION, Refused, backend_options, endpoint, read_bytes, refusals
from firetrial_kit.asking import Endpoint
from firetrial_kit.errors import Fault, FiretrialError, invalid

if TYPE_CHECKING:
    from firetrial_judge.rubric.grading import Graded
    from firetrial_judge.rubric.submission import Submission
    from firetrial_judge.rubric.tree import Rubric


@click.group("rubric")
def rubric_group() -> None:
    """Grade submissions by rubrics, and score what was graded."""


@rubric_group.command("score")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Faults in JSON alone; the answer is always JSON.")
def rubric_score(file: str, *, as_json: bool) -> None:
    """Score a graded rubric.

    FILE (or -), JSON or YAML, holds a tree with a score on each leaf, which is answered with its score; or
    {"passed_over_total": {"C1": [passed, total], …}}, which is answered with the conditions' grades.
    """
    from firetrial_judge.rubric.graded import as_dict, score_document
    from firetrial_kit.documents import load

    with refusals():
        data = read_bytes(file)
        try:
            answer = score_document(load(data, "the rubric"))
        except FiretrialError as error:
            faults = [as_dict(fault) for fault in error.faults]
            click.echo(json.dumps({"score": None, "by_category": {}, "faults": faults}))
            if as_json:
                raise click.exceptions.Exit(Refused.exit_code) from error
            raise
        click.echo(json.dumps(answer, ensure_ascii=False))


@rubric_group.command("grade")
@click.option("--rubric", "rubric_file", required=True, metavar="FILE", help="The rubric, JSON or YAML.")
@click.option("--submission", "place", required=True, metavar="DIR", help="The work: a folder or a tar.")
@backend_options()
@click.option(
    "--panel", multiple=True, metavar="MODEL", help="A further model at the same endpoint that votes."
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 9),
    default=1,
    show_default=True,
    help="How often each of them grades.",
)
@JSON_OPTION
def rubric_grade(
    *,
    rubric_file: str,
    place: str,
    backend: str,
    model: str,
    base_url: str,
    panel: tuple[str, ...],
    repeats: int,
    as_json: bool,
) -> None:
    """Grade a submission's paper, code and logs, question by question.

    Several models, or one several times, decide each question by majority.
    """
    from firetrial_judge.rubric.reading import read
    from firetrial_judge.rubric.report import as_dict, lines
    from firetrial_judge.rubric.submission import from_folder, from_tar
    from firetrial_kit.documents import load

    with refusals():
        rubric = read(load(read_bytes(rubric_file), "the rubric")).rubric
        submission = from_folder(Path(place)) if Path(place).is_dir() else from_tar(read_bytes(place))
        asked = [endpoint(backend, name, base_url) for name in dict.fromkeys((model, *panel))]
        graded = asyncio.run(_graded(rubric, submission, asked, repeats))
        if not as_json:
            click.echo("\n".join(lines(rubric, submission, graded)))
            if graded.error:
                raise graded.error
            return
        click.echo(json.dumps(as_dict(rubric, submission, graded), ensure_ascii=False))
        if graded.error:  # one document on standard output; each leaf in it says the same
            click.echo(f"Error: {graded.error.message}", err=True)
            raise click.exceptions.Exit(1 if graded.error.retryable else Refused.exit_code)


@rubric_group.command("agreement")
@click.argument("files", nargs=-1, required=True, metavar="PEOPLE JUDGE [PEOPLE JUDGE]…")
@JSON_OPTION
def rubric_agreement(files: tuple[str, ...], *, as_json: bool) -> None:
    """Measure a rubric judge against people.

    PEOPLE is a tree with people's score on each leaf, JUDGE the same graded by a judge: as a tree, or as
    `rubric grade --json` answers.
    """
    from firetrial_judge.rubric.agreement import agreement
    from firetrial_judge.rubric.comparing import compare
    from firetrial_judge.rubric.report import agreement_lines

    with refusals():
        if len(files) % 2:
            raise invalid("the files", [Fault("JUDGE", "", "must follow each PEOPLE")])
        pairs = zip(files[::2], files[1::2], strict=True)
        found = agreement([compare(read_bytes(people), read_bytes(judge)) for people, judge in pairs])
        click.echo(json.dumps(asdict(found)) if as_json else "\n".join(agreement_lines(found)))


async def _graded(rubric: Rubric, submission: Submission, asked: list[Endpoint], repeats: int) -> Graded:
    from firetrial_judge.rubric.grading import RubricJudge, load_prompt
    from firetrial_judge.rubric.panel import Seat, graded
    from firetrial_kit.models import ModelClient

    async with AsyncExitStack() as stack:
        seats = []
        for one in asked:
            client = ModelClient(one)
            stack.push_async_callback(client.aclose)
            judge = RubricJudge(client, load_prompt())
            seats += [Seat(judge, turn) for turn in range(1, repeats + 1)]
        return await graded(seats, rubric, submission)
