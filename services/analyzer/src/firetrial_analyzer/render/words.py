"""The report's recurring phrases, the same in every format."""

from collections.abc import Iterable, Sequence
from functools import cache

from firetrial_analyzer.contamination import Verdict
from firetrial_analyzer.distributions import Difference
from firetrial_analyzer.outcomes import Outcome, Usage
from firetrial_analyzer.render import text
from firetrial_analyzer.report import AgentReport, Report
from firetrial_analyzer.scores import OutcomeCounts
from firetrial_analyzer.taxonomy.catalogue import load

OUTCOMES = {
    Outcome.SCORED: "scored",
    Outcome.AGENT_FAILED: "agent failed",
    Outcome.INFRA_FAILED: "infrastructure failed",
    Outcome.JUDGE_FAILED: "judge failed",
    Outcome.CANCELLED: "cancelled",
}

_MEASURES = {"f1": "F1", "normalized_improvement": "Normalised improvement", "validity": "Validity"}

_MEMORY = {
    Verdict.SIGNAL: "Signal",
    Verdict.NO_SIGNAL: "No signal",
    Verdict.TOO_FEW_DATA: "Too few data",
}
_LEVEL = 0.05
# Letters of a name that fit above a row of a plot.
NAME_LIMIT = 44


def agent_names(agents: Sequence[str]) -> list[str]:
    """Each agent's name, with its hash only where two would be called the same."""
    short = [agent.partition("@")[0] for agent in agents]
    plain = [name if short.count(name) == 1 else agent for name, agent in zip(short, agents, strict=True)]
    safe = [text.shown(name) for name in plain]
    return [name if len(name) <= NAME_LIMIT else f"{name[: NAME_LIMIT - 1]}…" for name in safe]


def title(report: Report) -> str:
    """The question where there is one task, else how many agents and tasks there are."""
    if len(report.tasks) == 1:
        return report.tasks[0].question or report.tasks[0].id
    if not report.tasks:
        return f"Experiment {report.experiment}"
    agents = "1 agent" if len(report.agents) == 1 else f"{len(report.agents)} agents"
    return f"{agents} on {len(report.tasks)} tasks"


def measured(measure: str) -> str:
    """What a score is called."""
    return _MEASURES.get(measure) or text.shown(measure.replace("_", " "), 60)


def outcome_counts(counts: OutcomeCounts) -> list[str]:
    """ "4 scored", "1 agent failed": the outcomes that occurred."""
    named = {outcome.value.lower(): word for outcome, word in OUTCOMES.items()} | {"pending": "pending"}
    return [f"{number} {word}" for name, word in named.items() if (number := getattr(counts, name))]


def wall_time(agent: AgentReport) -> str:
    return text.seconds(agent.cost.per_run.wall_seconds.mean if agent.cost else None)


def cost(agent: AgentReport) -> str:
    """USD a run, with how many runs it is known of where that is not all of them."""
    usd = agent.cost.per_run.usd if agent.cost else None
    if usd is None or usd.mean is None:
        return text.UNKNOWN
    return text.usd(usd.mean) + (f" ({usd.counted} of {usd.total} known)" if usd.counted < usd.total else "")


def usage(used: Usage) -> str:
    parts = (
        f"wall time {text.seconds(used.wall_seconds)}",
        f"CPU time {text.seconds(used.cpu_seconds)}",
        f"memory {text.size(used.max_rss_bytes)}",
        f"tokens {text.count(used.tokens)}",
        f"cost {text.usd(used.usd)}",
    )
    return ", ".join(parts)


def named(id_: str) -> str:
    """The taxonomy's name of a stage, type or kind; what it does not know is shown as it is."""
    return _names().get(id_) or text.shown(id_, 80)


@cache
def _names() -> dict[str, str]:
    known = load()
    entries = {entry.id: entry.name for entry in (*known.stages, *known.false_positive_kinds)}
    return entries | {leaf.id: leaf.name for leaf in known.error_types}


def remembered(verdict: Verdict) -> str:
    """Whether scores look remembered, in a word or two."""
    return _MEMORY[verdict]


def methods(report: Report) -> str:
    """What settled the kinds of false claims: "rules", or models with the version of their prompts."""
    found = {
        false.settled_by
        for item in report.runs
        if item.attribution
        for false in item.attribution.false_positives
    }
    return " and ".join(text.shown(name, 80) for name in sorted(found)) or "rules"


def clearly_apart(differences: Iterable[Difference]) -> list[Difference]:
    """Those beyond chance after correction, the clearest first."""
    clear = [one for one in differences if one.p_adjusted is not None and one.p_adjusted < _LEVEL]
    return sorted(clear, key=lambda one: (one.p_adjusted or 0.0, -abs(one.difference)))
