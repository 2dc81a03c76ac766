"""The report's recurring phrases, the same in every format."""

from firetrial_analyzer.outcomes import Outcome, Usage
from firetrial_analyzer.render import text
from firetrial_analyzer.report import AgentReport, Report
from firetrial_analyzer.scores import OutcomeCounts

OUTCOMES = {
    Outcome.SCORED: "scored",
    Outcome.AGENT_FAILED: "agent failed",
    Outcome.INFRA_FAILED: "infrastructure failed",
    Outcome.JUDGE_FAILED: "judge failed",
    Outcome.CANCELLED: "cancelled",
}


def title(report: Report) -> str:
    """The question where there is one task, else how many tasks there are."""
    if len(report.tasks) == 1:
        return report.tasks[0].question or report.tasks[0].id
    return f"{len(report.tasks)} tasks" if report.tasks else f"Experiment {report.experiment}"


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
