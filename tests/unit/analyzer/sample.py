"""A small experiment with something of everything, for the tests of reports."""

from datetime import UTC, datetime, timedelta

from firetrial_analyzer.analysis import AnalysedRun, Judge, analyse_judged
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.compose import build
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Usage
from firetrial_analyzer.report import Experiment, Report, Task

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
JUDGE = Judge(
    "offline", "", "9c41f0aa77e1", "On 96 labelled pairs it was right on 77 % (95 % interval 68 to 84)."
)
EXPERIMENT = "e-5d0a3be8c1f24e17"
TASK = "label-noise-knn-3f2a9c1b04d7"
AGENTS = ("careful@41d0c8", "no-baseline@77aa02", "overgeneralised@b5e9f3")
TRUTH = (
    "A single neighbour is hit hardest by label noise: its accuracy falls from 98.5% to 59.0% at 40% noise.",
    "The loss shrinks as k grows.",
    "More neighbours are not always better: k = 45 is less accurate than k = 15 at every noise level.",
    "With clean labels small neighbourhoods are the most accurate.",
)


def outcome(
    agent: str, repeat: int, end: Outcome, *, f1: float | None = None, usd: float | None = None,
    attempt: int = 1, reason: str = "", ending: str = "exited with 0", wall: float = 9.0, task: str = TASK,
) -> RunOutcome:  # fmt: skip
    began = START + timedelta(minutes=repeat)
    return RunOutcome(
        run_id=f"r-{agent[:4]}{repeat}{attempt}{task[:2]}", experiment=EXPERIMENT, task=task, agent=agent,
        repeat=repeat,        attempt=attempt, outcome=end, precision=f1, recall=f1, f1=f1,
        usage=Usage(wall + repeat, wall * 0.9, 180 * 2**20, 4200 if usd else None, usd),
        ending=ending, reason=reason, started_at=began, ended_at=began + timedelta(seconds=wall + repeat),
    )  # fmt: skip


def judged(run: RunOutcome, claims: list[tuple[str, Verdict, str]], found: str) -> AnalysedRun:
    """`found` has a letter a truth claim: y(es), n(o), c(ontradicted), u(nscored)."""
    verdicts = {"y": Verdict.ENTAILED, "n": Verdict.NEUTRAL, "c": Verdict.CONTRADICTED, "u": Verdict.UNSCORED}
    judgement = Judgement(
        run.run_id,
        tuple(
            JudgedClaim(f"a{n}", text, verdict, evidence)
            for n, (text, verdict, evidence) in enumerate(claims, 1)
        ),
        tuple(
            JudgedClaim(f"t{n}", text, verdicts[letter], claims[0][0] if letter == "y" else "")
            for n, (text, letter) in enumerate(zip(TRUTH, found, strict=True), 1)
        ),
    )
    return analyse_judged(run, f"j-{run.run_id}", JUDGE, judgement)


def runs() -> list[AnalysedRun]:
    careful, bare, wide = AGENTS
    made = []
    for repeat, f1 in ((1, 1.0), (2, 0.857), (3, 0.857)):
        made.append(
            judged(
                outcome(careful, repeat, Outcome.SCORED, f1=f1, usd=0.0123),
                [
                    ("k = 1 drops most under 40% noise, by 39.6 points.", Verdict.ENTAILED, TRUTH[0]),
                    ("The loss becomes smaller as k grows.", Verdict.ENTAILED, TRUTH[1]),
                    ("k = 15 is the better choice under heavy label noise.", Verdict.NEUTRAL, ""),
                ],
                "yyyn",
            )
        )  # fmt: skip
        made.append(
            judged(
                outcome(bare, repeat, Outcome.SCORED, f1=0.25 * repeat, wall=4.0),
                [
                    ("Larger neighbourhoods are always more accurate.", Verdict.CONTRADICTED, TRUTH[2]),
                    ("The experiment used five seeds.", Verdict.UNSCORED, ""),
                    ("Label noise makes training slower on one core.", Verdict.NEUTRAL, ""),
                ],
                "nycn",
            )
        )
    made.append(
        judged(
            outcome(wide, 1, Outcome.SCORED, f1=0.0, wall=2.0),
            [
                ("Label noise destroys the accuracy of every classifier whatever k is.", Verdict.NEUTRAL, ""),
                ("Nearest neighbours should never be used on data with wrong labels.", Verdict.NEUTRAL, ""),
                ("The number of neighbours does not matter under noise.", Verdict.CONTRADICTED, TRUTH[1]),
            ],
            "nnnn",
        )
    )  # fmt: skip
    failed = outcome(
        wide, 2, Outcome.AGENT_FAILED, reason="no conclusion was left", ending="exited with 1", wall=2
    )
    lost = outcome(wide, 3, Outcome.INFRA_FAILED, reason="the runner vanished", ending="lost", attempt=1)
    again = outcome(
        wide, 3, Outcome.JUDGE_FAILED, reason="the judge gave no usable answer", attempt=2, wall=2.5
    )
    return [*made, AnalysedRun(failed), AnalysedRun(lost), AnalysedRun(again)]


QUESTION = "How does uniform label noise in the training set change the accuracy of k-nearest neighbours?"


def experiment() -> Experiment:
    return Experiment(EXPERIMENT, (Task(TASK, QUESTION),), 9, AGENTS, 3)


def report() -> Report:
    return build(experiment(), runs())


def several_tasks() -> Report:
    """Two agents on six tasks, the better one dearer, and a third without a price."""
    runs = [
        AnalysedRun(outcome(agent, repeat, Outcome.SCORED, f1=base + 0.1 * n, usd=usd, task=f"{n}-task"))
        for agent, base, usd in (("dear@1", 0.4, 0.5), ("cheap@2", 0.2, 0.1), ("unpriced@3", 0.1, None))
        for n in range(6)
        for repeat in (1, 2)
    ]
    return build(Experiment(EXPERIMENT, (), len(runs)), runs)
