# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""Commands of the judge that need no server: `judge pairs`, `judge text`, `score`, `rubric`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firetrial_judge.cache_cli import CACHE_VARIABLE, cache_group
from firetrial_judge.calibration.cli import calibrate
from firetrial_judge.rubric.cli import rubric_group
from firetrial_judge.terminal import (
    JSON_OPTION,
    asking_options,
    backend_options,
    endpoint,
    read_json,
    read_text,
    refusals,
)
from firetrial_kit.errors import Fault, invalid

if TYPE_CHECKING:
    from firetrial_judge.judgement import Judge, Judgement
    from firetrial_judge.one_word import OneWord
    from firetrial_judge.pairs import Pair
    from firetrial_kit.cache import Cache

_CACHE_BYTES = 256 * 1024 * 1024
_BACKENDS = backend_options("offline")


@click.group("judge")
def judge_group() -> None:
    """Judge claims and texts without a server."""


judge_group.add_command(cache_group)
judge_group.add_command(calibrate)


@judge_group.command("pairs")
@click.argument("file")
@_BACKENDS
@click.option("--json", "_json", is_flag=True, help="Changes nothing: the answer is always JSON lines.")
@asking_options
def pairs(file: str, *, _json: bool, **options: Any) -> None:
    """Decide whether premises entail hypotheses.

    FILE (or -) holds lines {"id", "premise", "hypothesis"}; the answer is a line {"id", "verdict"} for each,
    in their order.
    """
    from firetrial_judge.pairs import read_pairs

    with refusals():
        given = read_pairs(read_text(file))
        asyncio.run(_decide(given, options))


async def _decide(given: list[Pair], options: Mapping[str, Any]) -> None:
    from firetrial_judge.pairs import decide

    async with open_judge(**options) as judge:
        async for id_, verdict in decide(judge, given):
            click.echo(json.dumps({"id": id_, "verdict": verdict.value}))


@judge_group.command("text")
@click.option("--truth", required=True, metavar="FILE", help="What is true.")
@click.option("--conclusion", required=True, metavar="FILE", help="What was concluded; - for standard input.")
@_BACKENDS
@JSON_OPTION
@asking_options
def text(*, truth: str, conclusion: str, as_json: bool, **options: Any) -> None:
    """Judge a conclusion against a ground truth, claim by claim."""
    from firetrial_judge.report import as_dict, lines

    with refusals():
        judgement, quality = asyncio.run(_judged(read_text(conclusion), read_text(truth), options))
    if as_json:
        click.echo(json.dumps(as_dict(judgement) | {"quality": quality}, ensure_ascii=False))
    else:
        click.echo("\n".join([*lines(judgement), quality]))


async def _judged(conclusion: str, truth: str, options: Mapping[str, Any]) -> tuple[Judgement, str]:
    from firetrial_judge.judgement import judge_texts

    async with open_judge(**options) as judge:
        return await judge_texts(judge, run_id="", conclusion=conclusion, truth=truth), judge.quality


@asynccontextmanager
async def open_judge(
    backend: str, model: str, base_url: str, verdicts: str, patience: float
) -> AsyncIterator[Judge]:
    """The judge that the options of a command name, as long as the block lasts."""
    if backend == "offline":
        if model:
            raise invalid("--model", [Fault("--model", model, "needs --backend openai or anthropic")])
        from firetrial_judge.offline import load

        yield load()
        return
    from firetrial_judge.instructions import load_prompts
    from firetrial_judge.model_judge import ModelJudge
    from firetrial_kit.models import ModelClient

    one_word = _one_word(backend) if verdicts == "one-word" else None
    client = ModelClient(endpoint(backend, model, base_url, patience))
    try:
        yield ModelJudge(client, load_prompts(), cache=_cache(), one_word=one_word)
    finally:
        await client.aclose()


def _one_word(backend: str) -> OneWord:
    from firetrial_judge.offline import load
    from firetrial_judge.one_word import OneWord

    if backend == "anthropic":
        fault = Fault(
            "--verdicts", "one-word", "needs probabilities, which --backend anthropic does not tell"
        )
        raise invalid("--verdicts", [fault])
    return OneWord(load().judge)


def _cache() -> Cache | None:
    """The folder that the environment names, which `judge cache` looks after."""
    from firetrial_kit.cache import LocalTier

    folder = os.environ.get(CACHE_VARIABLE, "")
    return LocalTier(Path(folder), _CACHE_BYTES) if folder else None


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

    with refusals():
        click.echo(json.dumps(score_document(read_json(file), mode)))


commands: list[click.Command] = [judge_group, score, rubric_group]
