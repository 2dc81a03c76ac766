"""The report as one HTML file that needs no network and no script."""

from collections.abc import Sequence
from dataclasses import astuple
from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from firetrial_analyzer.analysis import Judge
from firetrial_analyzer.claims import Judgement, Verdict
from firetrial_analyzer.render import text
from firetrial_analyzer.render.plots import plots
from firetrial_analyzer.render.words import OUTCOMES, cost, outcome_counts, title, usage, wall_time
from firetrial_analyzer.report import Report

# Mark, word, tone: no verdict is told by colour alone.
_AGENT_VERDICTS = {
    Verdict.ENTAILED: ("✓", "Entailed", "good"),
    Verdict.CONTRADICTED: ("✗", "Contradicted", "bad"),
    Verdict.NEUTRAL: ("○", "Neutral", "open"),
    Verdict.UNSCORED: ("–", "Unscored", "none"),
}
_TRUTH_VERDICTS = {
    Verdict.ENTAILED: ("✓", "Found", "good"),
    Verdict.CONTRADICTED: ("✗", "Contradicted", "bad"),
    Verdict.NEUTRAL: ("○", "Missing", "open"),
    Verdict.UNSCORED: ("–", "Unscored", "none"),
}


def html(report: Report) -> str:
    """The page; the same report gives the same bytes."""
    judged = [(item.run.run_id, item.judgement, item.attribution) for item in report.runs]
    wrong = {(run, false.claim_id): false for run, _, why in judged if why for false in why.false_positives}
    truth = {(run, claim.id): claim for run, what, _ in judged if what for claim in what.truth_claims}
    return (
        _template_environment()
        .from_string(_resource("report.html.j2"))
        .render(
            report=report,
            title=title(report),
            css=Markup(_resource("report.css")),  # noqa: S704 - our own style sheet
            plots=plots(report),
            offline=any(judge.offline for judge in report.judges),
            method=" and ".join(sorted({why.method for _, _, why in judged if why})) or "rules",
            per_point={placed.offer.agent: placed.usd_per_point for placed in report.front.agents},
            cells={(score.task, score.agent): score for score in report.task_scores},
            falses=wrong,
            truths=truth,
            agent_verdicts=_AGENT_VERDICTS,
            truth_verdicts=_TRUTH_VERDICTS,
        )
    )


def _notes(judge: Judge, judges: Sequence[Judge]) -> str:
    """What the judge said of this run beyond what it said of all."""
    of_all = next(known.quality for known in judges if known.config_hash == judge.config_hash)
    return judge.quality.removeprefix(of_all).removeprefix("; ")


def _gist(judgement: Judgement) -> str:
    true = sum(claim.verdict is Verdict.ENTAILED for claim in judgement.agent_claims)
    found = sum(claim.verdict is Verdict.ENTAILED for claim in judgement.truth_claims)
    claims, truths = len(judgement.agent_claims), len(judgement.truth_claims)
    return f"{true} of {claims} claims true, {found} of {truths} found"


@cache
def _template_environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "shown": text.shown,
        "points": text.points,
        "when": text.when,
        "mean": text.mean_and_spread,
        "interval": text.interval,
        "difference": text.difference,
        "probability": text.probability,
        "usd": text.usd,
        "outcomes": outcome_counts,
        "outcome": lambda outcome: OUTCOMES[outcome],
        "wall_time": wall_time,
        "cost": cost,
        "usage": usage,
        "claim_row": astuple,
        "gist": _gist,
        "notes": _notes,
    }
    return environment


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
