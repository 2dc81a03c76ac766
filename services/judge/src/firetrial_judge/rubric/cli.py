# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""The commands `rubric score` and `rubric grade`."""

from __future__ import annotations

import json

import click

from firetrial_judge.terminal import read_bytes, refusals
from firetrial_kit.errors import FiretrialError


@click.group("rubric")
def rubric_group() -> None:
    """Grade submissions by rubrics, and score what was graded."""


@rubric_group.command("score")
@click.argument("file")
@click.option("--json", "_json", is_flag=True, help="Changes nothing: the answer is always JSON.")
def rubric_score(file: str, *, _json: bool) -> None:
    """Score a graded rubric.

    FILE (or -), JSON or YAML, holds a tree with a score on each leaf, which is answered with its score; or
    {"passed_over_total": {"C1": [passed, total], …}}, which is answered with the conditions' grades.
    """
    from firetrial_judge.rubric.document import load
    from firetrial_judge.rubric.graded import as_dict, score_document

    with refusals():
        data = read_bytes(file)
        try:
            answer = score_document(load(data))
        except FiretrialError as error:
            faults = [as_dict(fault) for fault in error.faults]
            click.echo(json.dumps({"score": None, "by_category": {}, "faults": faults}))
            raise
        click.echo(json.dumps(answer, ensure_ascii=False))
