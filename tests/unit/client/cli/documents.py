"""A report as the analyzer itself writes it."""

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


def document(*runs: AnalysedRun) -> bytes:
    return json_text(build(Experiment("e-1", (Task("study-1"),), len(runs)), runs)).encode()


SCORED = document(
    outcome("careful@1", 1, Outcome.SCORED, 1.0),
    outcome("careful@1", 2, Outcome.SCORED, 0.5),
    outcome("hasty@2", 1, Outcome.AGENT_FAILED, reason="no conclusion"),
    outcome("hasty@2", 2, Outcome.INFRA_FAILED, reason="the sandbox \x1b[31mvanished"),
)
NOTHING = document(outcome("hasty@2", 1, Outcome.INFRA_FAILED, reason="no sandbox"))
