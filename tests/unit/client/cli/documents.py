"""A report as the analyzer itself writes it."""

from dataclasses import replace

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.compose import build
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Usage
from firetrial_analyzer.render.document import json_text
from firetrial_analyzer.report import Experiment, Task

OFFLINE = Judge("offline", "", "9c41", "right on 77 %")


def outcome(agent: str, repeat: int, end: Outcome, f1: float | None = None, reason: str = "") -> AnalysedRun:
    run = RunOutcome(
        run_id=f"r-{agent}-{repeat}",
        experiment="e-1",
        task="study-1",
        agent=agent,
        repeat=repeat,
        attempt=1,
        outcome=end,
        precision=f1,
        recall=f1,
        f1=f1,
        usage=Usage(wall_seconds=2.5),
        reason=reason,
    )
    return AnalysedRun(run, judge=OFFLINE if f1 is not None else None)


def improved(agent: str, repeat: int, value: float | None) -> AnalysedRun:
    """A repository run; the agent's failure where it has no value."""
    end = Outcome.AGENT_FAILED if value is None else Outcome.SCORED
    item = outcome(agent, repeat, end)
    run = replace(item.run, measure="normalized_improvement", value=value)
    return replace(item, run=run, judge=OFFLINE)


def document(*runs: AnalysedRun) -> bytes:
    return json_text(build(Experiment("e-1", (Task("study-1"),), len(runs)), runs)).encode()


SCORED = document(
    outcome("careful@1", 1, Outcome.SCORED, 1.0),
    outcome("careful@1", 2, Outcome.SCORED, 0.5),
    outcome("hasty@2", 1, Outcome.AGENT_FAILED, reason="no conclusion"),
    outcome("hasty@2", 2, Outcome.INFRA_FAILED, reason="the sandbox \x1b[31mvanished"),
)
NOTHING = document(outcome("hasty@2", 1, Outcome.INFRA_FAILED, reason="no sandbox"))
IMPROVED = document(
    improved("tuner@1", 1, 0.3),
    improved("tuner@1", 2, 0.5),
    improved("breaker@2", 1, None),
)
