# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`proposals assess` and `proposals evaluate`: proposals that lie in files, without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from firetrial_parser.model_cli import asker_of, model_options

_MODES = ("standard", "aggressive")
_model_options = model_options(offline="Count features", does="assesses")
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object.")


@click.group("proposals")
def proposals() -> None:
    """What agents mean to do, and what is said of it before money is spent."""


@proposals.command("assess")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(_MODES), multiple=True, help="Default: both.")
@click.option("--mask-results", is_flag=True, help="Take results out, and list them; else they are refused.")
@click.option("--mask-identifiers", is_flag=True, help="Also mask the names that it gives to its own work.")
@_model_options
@_JSON
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
@click.argument("file", type=click.Path(path_type=Path))
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
@_JSON
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


def _loaded(file: Path) -> Any:
    from firetrial_kit.errors import Fault, invalid
    from firetrial_parser.reading import load

    data = load(file)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        told = str(data[:40], "utf-8", "replace")
        raise invalid("the proposal", [Fault("file", told, f"must be JSON: {error}")]) from error


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
    from firetrial_parser.soundness.assembly import means as means_of
    from firetrial_parser.soundness.assessment import Mode
    from firetrial_parser.soundness.assessment import assess as assessed
    from firetrial_parser.soundness.proposal import read
    from firetrial_parser.soundness.support import own_source, supported

    clean, found = outcomes.masked(read(given))
    if not mask_results:
        check("the proposal", outcomes.faults(found))
    bill = Bill()
    async with asker_of(model, base_url) as asker:
        means = means_of(asker, None)
        opinions = [
            await assessed(clean, Mode(mode), means.assessor, bill, mask_identifiers=mask_identifiers)
            for mode in modes
        ]
        support = await supported(clean, own_source(clean), asker, means.verifier, bill)
    return {
        "id": clean.id("", "", ""),
        "assessments": [asdict(one) for one in opinions],
        "masked": [
            {"part": one.part, "start": one.start, "end": one.end, "text": one.text, "reason": one.why}
            for one in found
        ],
        "support": {"ratio": support.ratio, "claims": len(support.claims), "method": support.method},
        "usage": bill.to_json(),
    }


async def _evaluated(file: Path, wanted: Any, model: str, base_url: str) -> dict[str, Any]:
    from firetrial_parser.asking import Bill
    from firetrial_parser.reading import load
    from firetrial_parser.soundness.assembly import means
    from firetrial_parser.soundness.evaluation import evaluate as evaluated
    from firetrial_parser.soundness.evaluation import read_set

    items = await asyncio.to_thread(lambda: read_set(str(load(file), "utf-8", "replace")))
    async with asker_of(model, base_url) as asker:
        return await evaluated(items, means(asker, None).assessor, wanted, Bill())


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
