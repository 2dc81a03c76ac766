"""A report as the analyzer itself writes it."""

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Slot, Usage
from firetrial_analyzer.render.document import json_text
from firetrial_analyzer.report import Experiment, Task, build

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
    plan = tuple(Slot("study-1", run.run.agent, run.run.repeat) for run in runs)
    return json_text(build(Experiment("e-1", (Task("study-1"),), len(runs), plan), runs)).encode()


SCORED = document(
    outcome("careful@1", 1, Outcome.SCORED, 1.0),
    outcome("careful@1", 2, Outcome.SCORED, 0.5),
    outcome("hasty@2", 1, Outcome.AGENT_FAILED, reason="no conclusion"),
    outcome("hasty@2", 2, Outcome.INFRA_FAILED, reason="the sandbox \x1b[31mvanished"),
)
NOTHING = document(outcome("hasty@2", 1, Outcome.INFRA_FAILED, reason="no sandbox"))
