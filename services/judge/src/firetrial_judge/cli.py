# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""Commands of the judge that need no server: `judge pairs`, `judge text`, `score`, `rubric score`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import click

from firetrial_kit.errors import Fault, FiretrialError, check, invalid

if TYPE_CHECKING:
    from firetrial_judge.judgement import Judge, Judgement
    from firetrial_judge.pairs import Pair

_MAX_BYTES = 64 * 1024 * 1024
_NOT_YET = 3
_OPENAI = "https://api.openai.com/v1"
_BACKENDS = ["offline", "openai"]
_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


class Refused(click.ClickException):
    """Bad input: exit code 2, as for bad usage."""

    exit_code = 2


@contextmanager
def _refusals() -> Iterator[None]:
    """Tell what a person can mend on standard error, one fault a line."""
    try:
        yield
    except FiretrialError as error:
        told = "\n       ".join(str(fault) for fault in error.faults) or error.message
        raise (click.ClickException(told) if error.retryable else Refused(told)) from error


def _backend_options(command: Any) -> Any:
    for option in (
        click.option(
            "--base-url", default="https://api.openai.com/v1", show_default=True, help="Its endpoint."
        ),
        click.option("--model", default="", help="The model to ask; its key is taken from OPENAI_API_KEY."),
        click.option(
            "--backend", type=click.Choice(["offline", "openai"]), default="offline", show_default=True
        ),
    ):
        command = option(command)
    return command


@click.group("judge")
def judge_group() -> None:
    """Judge claims and texts without a server."""


@judge_group.command("pairs")
@click.argument("file")
@_backend_options
@click.option("--json", "_json", is_flag=True, help="Changes nothing: the answer is always JSON lines.")
def pairs(file: str, *, backend: str, model: str, base_url: str, _json: bool) -> None:
    """Decide whether premises entail hypotheses.

    FILE (or -) holds lines {"id", "premise", "hypothesis"}; the answer is a line {"id", "verdict"} for each,
    in their order.
    """
    from firetrial_judge.pairs import read_pairs

    with _refusals():
        given = read_pairs(_text(file))
        asyncio.run(_decide(given, backend, model, base_url))


async def _decide(given: list[Pair], backend: str, model: str, base_url: str) -> None:
    from firetrial_judge.pairs import decide

    async with _judge(backend, model, base_url) as judge:
        async for id_, verdict in decide(judge, given):
            click.echo(json.dumps({"id": id_, "verdict": verdict.value}))


@judge_group.command("text")
@click.option("--truth", required=True, metavar="FILE", help="What is true.")
@click.option("--conclusion", required=True, metavar="FILE", help="What was concluded; - for standard input.")
@_backend_options
@_JSON
def text(*, truth: str, conclusion: str, backend: str, model: str, base_url: str, as_json: bool) -> None:
    """Judge a conclusion against a ground truth, claim by claim."""
    from firetrial_judge.report import as_dict, lines

    with _refusals():
        judgement, quality = asyncio.run(
            _judged(_text(conclusion), _text(truth), backend=backend, model=model, base_url=base_url)
        )
    if as_json:
        click.echo(json.dumps(as_dict(judgement) | {"quality": quality}, ensure_ascii=False))
    else:
        click.echo("\n".join([*lines(judgement), quality]))


async def _judged(
    conclusion: str, truth: str, *, backend: str, model: str, base_url: str
) -> tuple[Judgement, str]:
    from firetrial_judge.judgement import judge_texts

    async with _judge(backend, model, base_url) as judge:
        return await judge_texts(judge, run_id="", conclusion=conclusion, truth=truth), judge.quality


@asynccontextmanager
async def _judge(backend: str, model: str, base_url: str) -> AsyncIterator[Judge]:
    if backend == "offline":
        if model:
            raise invalid("--model", [Fault("--model", model, "needs --backend openai")])
        from firetrial_judge.offline import load

        yield load()
        return
    if not model:
        raise invalid("--model", [Fault("--model", "", "must name the model to ask")])
    from firetrial_judge.model_judge import ModelJudge, load_prompts
    from firetrial_kit.models import Endpoint, ModelClient

    key = os.environ.get("OPENAI_API_KEY", "")
    client = ModelClient(Endpoint(base_url, model, key, timeout=60.0, patience=60.0))
    try:
        yield ModelJudge(client, load_prompts())
    finally:
        await client.aclose()


@click.command("score")
@click.argument("file")
@click.option(
    "--mode",
    type=click.Choice(["default", "ragchecker"]),
    default="default",
    show_default=True,
    help="ragchecker: its conventions exactly (no claims give 0, only the label Entailment counts).",
)
@click.option("--json", "_json", is_flag=True, help="Changes nothing: the answer is always JSON.")
def score(file: str, *, mode: str, _json: bool) -> None:
    """Precision, recall and F1 from verdicts.

    FILE (or -) holds {"answer2response": [label…], "response2answer": [label…]}, or a list of such objects,
    which is answered with each and their aggregate.
    """
    from firetrial_judge.score import score_document

    with _refusals():
        click.echo(json.dumps(score_document(_json_document(_text(file)), mode)))


@click.group("rubric")
def rubric_group() -> None:
    """Grade by rubrics."""


@rubric_group.command("score")
@click.argument("file")
@_JSON
def rubric_score(file: str, *, as_json: bool) -> None:
    """Grade a rubric's answers (not yet)."""
    message = f"rubric scoring is not yet part of Firetrial; {file} was not read"
    if as_json:
        click.echo(json.dumps({"error": "NOT_YET", "message": message}))
    click.echo(message, err=True)
    raise SystemExit(_NOT_YET)


def _text(file: str) -> str:
    """The text of a file or of standard input. Raises INVALID where it cannot be read or is too large."""
    try:
        with click.open_file(file, "rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise invalid("the file", [Fault("FILE", file, f"must be readable: {error.strerror}")]) from error
    check(
        "the file",
        [Fault("FILE", file, f"must have at most {_MAX_BYTES} bytes")] if len(data) > _MAX_BYTES else [],
    )
    return str(data, "utf-8", "replace").removeprefix("\ufeff")


def _json_document(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:
        raise invalid("the file", [Fault("FILE", written[:40], f"must be JSON: {error}")]) from error


commands: list[click.Command] = [judge_group, score, rubric_group]
