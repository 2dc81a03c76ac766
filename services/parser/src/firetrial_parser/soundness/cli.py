# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`proposals assess` and `proposals evaluate`: proposals that lie in files, without a server."""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from firetrial_parser.asking import Bill
    from firetrial_parser.soundness.proposals import Means

DEFAULT_URL = "https://api.openai.com/v1"
CACHE_VARIABLE = "FIRETRIAL_PARSER_CACHE_DIR"
_CACHE_BYTES = 256 * 1024 * 1024
_MODES = ("standard", "aggressive")


def _model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Which assessor; without a model it is the one that counts features."""

    @click.option("--offline", is_flag=True, help="Count features, without a model (the default).")
    @click.option("--model", default="", help="The model that assesses, at an OpenAI-compatible endpoint.")
    @click.option("--base-url", default="", help="The endpoint; its key is taken from OPENAI_API_KEY.")
    @click.option("--json", "as_json", is_flag=True, help="One JSON object.")
    @functools.wraps(command)
    def run(*, offline: bool, model: str, base_url: str, **options: Any) -> None:
        if offline and (model or base_url):
            raise click.UsageError("--offline takes no --model and no --base-url")
        if base_url and not model:
            raise click.UsageError("--base-url needs --model")
        command(model=model, base_url=base_url, **options)

    return run


@click.group("proposals")
def proposals() -> None:
    """What agents mean to do, and what is said of it before money is spent."""


@proposals.command("assess")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--mode", type=click.Choice(_MODES), multiple=True, help="Default: both.")
@click.option("--mask-results", is_flag=True, help="Take results out, and list them; else they are refused.")
@click.option("--mask-identifiers", is_flag=True, help="Also mask the names that it gives to its own work.")
@_model_options
def assess(
    file: Path,
    *,
    mode: tuple[str, ...],
    mask_results: bool,
    mask_identifiers: bool,
    model: str,
    base_url: str,
    as_json: bool,
) -> None:
    """Assess the proposal in FILE (JSON); nothing is kept but what a model was paid for."""
    told = asyncio.run(
        _assessed(
            _loaded(file),
            mode or _MODES,
            mask_results=mask_results,
            mask_identifiers=mask_identifiers,
            model=model,
            base_url=base_url,
        )
    )
    click.echo(json.dumps(told, ensure_ascii=False) if as_json else "\n".join(_lines(told)))


@proposals.command("evaluate")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--mode", type=click.Choice(_MODES), default="standard", show_default=True)
@click.option(
    "--controls", is_flag=True, help="Also with names masked, and with flaws injected: three times the cost."
)
@click.option(
    "--min-support",
    type=click.FloatRange(0, 1),
    help="Leave out proposals with a lower support ratio, or none.",
)
@click.option(
    "--least", type=click.IntRange(1), default=10, show_default=True,
    help="Proposals of each class that a year or subfield must have to be told apart.",
)  # fmt: skip
@_model_options
def evaluate(
    file: Path,
    *,
    mode: str,
    controls: bool,
    min_support: float | None,
    least: int,
    model: str,
    base_url: str,
    as_json: bool,
) -> None:
    """Score an assessor over the labelled set in FILE: lines {"id", "proposal", "score", …}."""
    from firetrial_parser.soundness.assessment import Mode
    from firetrial_parser.soundness.evaluation import Wanted

    report = asyncio.run(_evaluated(file, Wanted(Mode(mode), controls, min_support, least), model, base_url))
    click.echo(json.dumps(report, ensure_ascii=False) if as_json else "\n".join(_table(report)))


@asynccontextmanager
async def _means(model: str, base_url: str) -> AsyncIterator[Means]:
    """The model, what it was paid for kept where FIRETRIAL_PARSER_CACHE_DIR says; else counted features."""
    from firetrial_parser.soundness.assembly import means

    if not model:
        yield means(None, None)
        return
    from firetrial_kit.asking import Endpoint
    from firetrial_kit.cache import LocalTier, NoCache
    from firetrial_parser.asking import opened

    folder = os.environ.get(CACHE_VARIABLE, "")
    cache = LocalTier(Path(folder), _CACHE_BYTES) if folder else NoCache()
    endpoint = Endpoint(base_url or DEFAULT_URL, model, os.environ.get("OPENAI_API_KEY", ""))
    async with opened(endpoint, cache=cache) as asker:
        yield means(asker, None)


def _loaded(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise click.UsageError(f"{file} is no JSON: {error}") from None


async def _assessed(
    given: Any,
    modes: tuple[str, ...],
    *,
    mask_results: bool,
    mask_identifiers: bool,
    model: str,
    base_url: str,
) -> dict[str, Any]:
    from firetrial_kit.errors import check
    from firetrial_parser.asking import Bill
    from firetrial_parser.soundness import outcomes
    from firetrial_parser.soundness.assessment import Mode
    from firetrial_parser.soundness.assessment import assess as assessed
    from firetrial_parser.soundness.proposal import read
    from firetrial_parser.soundness.support import own_source, supported

    clean, found = outcomes.masked(read(given))
    if not mask_results:
        check("the proposal", outcomes.faults(found))
    bill = Bill()
    async with _means(model, base_url) as means:
        opinions = [
            await assessed(clean, Mode(mode), means.assessor, bill, mask_identifiers=mask_identifiers)
            for mode in modes
        ]
        support = await supported(clean, own_source(clean), means.asker, means.verifier, bill)
    return {
        "id": clean.id("", "", ""),
        "assessments": [
            {
                "mode": str(one.mode),
                "rationale": one.rationale,
                "bucket": str(one.bucket),
                "confidence": one.confidence,
                "assessor": one.assessor,
                "quality": one.quality,
                "screened": list(one.screened),
                "identifiers_masked": one.identifiers_masked,
            }
            for one in opinions
        ],
        "masked": [
            {"part": one.part, "start": one.start, "end": one.end, "text": one.text, "reason": one.why}
            for one in found
        ],
        "support": {"ratio": support.ratio, "claims": len(support.claims), "method": support.method},
        "usage": _usage(bill),
    }


async def _evaluated(file: Path, wanted: Any, model: str, base_url: str) -> dict[str, Any]:
    from firetrial_parser.asking import Bill
    from firetrial_parser.soundness.evaluation import evaluate as evaluated
    from firetrial_parser.soundness.evaluation import read_set

    items = await asyncio.to_thread(lambda: read_set(file.read_text("utf-8", "replace")))
    async with _means(model, base_url) as means:
        return await evaluated(items, means.assessor, wanted, Bill())


def _usage(bill: Bill) -> dict[str, Any]:
    spent = bill.total
    return {"calls": spent.calls, "cost_usd": spent.known_cost, "cache_hits": spent.cache_hits}


def _lines(told: dict[str, Any]) -> Iterator[str]:
    for one in told["assessments"]:
        bucket = click.style(one["bucket"], fg="green" if one["bucket"] == "high" else "red")
        by = f"{one['assessor']}; {one['quality']}"
        yield f"{one['mode']}: {bucket}, confidence {one['confidence']} of 5 ({by})"
        yield f"  {one['rationale']}"
        yield from (f"  not shown: {line}" for line in one["screened"])
    yield from (f"masked in {one['part']}: {one['text']} ({one['reason']})" for one in told["masked"])
    support = told["support"]
    ratio = "none ruled on" if support["ratio"] is None else f"{support['ratio']:.0%}"
    yield f"support: {ratio} of {support['claims']} claims, by {support['method']}"


def _table(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['mode']} mode, {report['assessor']} ({report['quality']})"
    yield (
        f"{report['proposals']} proposals: {report['low']} low, {report['high']} high, "
        f"{report['excluded']} between, {report['without_support']} without support; "
        f"{report['unparsed']} answers could not be read"
    )
    yield f"{'':28}{'LOW RECALL':>12}{'HIGH RECALL':>12}{'FPR':>8}{'ACCURACY':>10}{'BALANCED':>10}"
    yield _row("assessor", report["overall"])
    yield from (_row(name, found) for name, found in report["baselines"].items())
    for group in ("by_year", "by_subfield"):
        yield from (_row(name, found) for name, found in report[group].items())
    if controls := report.get("controls"):
        yield _row("identifiers masked", controls["identifiers_masked"])
        flaws = controls["flaws_injected"]
        before, after = flaws["approval_before"]["value"], flaws["approval_after"]["value"]
        told = f"approved {_percent(before)} before, {_percent(after)} after"
        yield f"flaws injected into {flaws['pairs']}: {told}"


def _row(name: str, found: dict[str, Any]) -> str:
    names = (("low_recall", 12), ("high_recall", 12), ("fpr", 8), ("accuracy", 10), ("balanced_accuracy", 10))
    return f"{name:28.28}" + "".join(f"{_percent(found[key]['value']):>{width}}" for key, width in names)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"
