"""An experiment of the usual size, made up: claims read like those of studies, errors like those of agents.

So a report of it weighs and looks like what people will see."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache

from firetrial_analyzer import columns
from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.attribution import RUN, Attribution, FalsePositive, Missed
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.compose import Composer
from firetrial_analyzer.cutoffs import Cutoff
from firetrial_analyzer.integrity.findings import Finding, Integrity, NumberTrace, Trace
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Usage
from firetrial_analyzer.report import Experiment, Report, Task
from firetrial_analyzer.taxonomy.catalogue import ErrorType, FalsePositiveKind, load
from firetrial_analyzer.taxonomy.evidence import Signal
from firetrial_analyzer.taxonomy.steps import Citation

EXPERIMENT = "e-7c1f0b2a9d4e6835"
MODEL = "some-model-2025"
JUDGE = Judge(
    "model", "judge-model-large", "9c41f0aa77e1d2",
    "kappa 0.81 (95 % interval 0.74 to 0.87) on 240 labelled claims", "c-51ab90",
)  # fmt: skip
TASKS = (
    "lost-in-long-contexts", "label-noise-knn", "self-correction-limits", "persona-bias-medicine",
    "chain-of-thought-faithfulness", "calibration-under-shift", "prompt-order-sensitivity",
    "tokenizer-arithmetic", "retrieval-distractors", "judge-position-bias", "quantisation-reasoning",
    "instruction-hierarchy",
)  # fmt: skip
AGENTS = (
    ("careful-planner", 0.62, 0.92), ("tree-search", 0.55, 2.40), ("coder-loop", 0.48, 0.35),
    ("open-hands", 0.44, 0.61), ("reflect-and-retry", 0.41, 0.88), ("two-critics", 0.39, 1.30),
    ("long-context", 0.36, 1.75), ("plain-react", 0.31, 0.21), ("tiny-model", 0.22, 0.03),
    ("no-tools", 0.12, None),
)  # fmt: skip
_SUBJECTS = (
    "Accuracy",
    "The share of correct answers",
    "Calibration error",
    "The gap between both groups",
    "Agreement",
)
_EFFECTS = ("falls", "rises", "stays the same", "varies most", "recovers only partly")
_CONDITIONS = (
    "when the relevant passage lies in the middle of twenty documents",
    "at 40 % label noise with one neighbour",
    "once the model is told to check its own answer",
    "for prompts that name the patient’s group first",
    "with four-bit weights on problems of more than three steps",
    "if the distractors share words with the question",
)
_STEPS = (
    "python run.py --samples 20",
    "Traceback (most recent call last):",
    "wrote results.json",
    "accuracy 0.412",
)


@cache
def report(repeats: int = 3) -> Report:
    """12 tasks, 10 agents, `repeats` runs of each: the same every time."""
    items = runs(repeats)
    names = tuple(name(agent) for agent, _, _ in AGENTS)
    tasks = tuple(_task(place, id_) for place, id_ in enumerate(TASKS))
    experiment = Experiment(EXPERIMENT, tasks, len(items), names, repeats, MODEL, probe=name("no-tools"))
    rows = [columns.row(item) for item in items]
    details = {columns.key(row): item for row, item in zip(rows, items, strict=True)}
    cutoffs = {MODEL: Cutoff(MODEL, date(2024, 6, 30), "made up")}
    return Composer(columns.frame(rows)).report(experiment, details, cutoffs)


def _task(place: int, id_: str) -> Task:
    question = f"How does {id_.replace('-', ' ')} change what models find?"
    return Task(id_, question, (), ("easy", "medium", "hard")[place % 3], f"2024-{1 + place:02d}-10")


def name(agent: str) -> str:
    return f"{agent}@{sum(map(ord, agent)):06x}"


def runs(repeats: int = 3) -> list[AnalysedRun]:
    chance = random.Random(7)  # noqa: S311 - made-up data
    return [
        _run(chance, task, agent, repeat)
        for task in range(len(TASKS))
        for agent in AGENTS
        for repeat in range(1, repeats + 1)
    ]


def _run(chance: random.Random, task: int, made: tuple[str, float, float | None], repeat: int) -> AnalysedRun:
    agent, skill, usd = made
    began = datetime(2026, 1, 5, 9, 0, tzinfo=UTC) + timedelta(minutes=7 * task + repeat)
    wall = chance.lognormvariate(6.2, 0.7)
    run = RunOutcome(
        f"r-{agent[:5]}{task:02d}{repeat}".replace("-", ""), EXPERIMENT, TASKS[task], name(agent), repeat, 1,
        Outcome.SCORED, usage=_usage(chance, wall, usd), ending="exited with 0", started_at=began,
        ended_at=began + timedelta(seconds=wall), model=MODEL,
    )  # fmt: skip
    fate = chance.random()
    if fate < 0.015:
        return AnalysedRun(replace(run, outcome=Outcome.INFRA_FAILED, reason="the sandbox’s node was lost"))
    if fate < 0.06:
        failed = replace(
            run, outcome=Outcome.AGENT_FAILED, reason="no conclusion was left", ending="exited with 1"
        )
        why = Missed(RUN, "SYSTEM", "TIMEOUT", "The time limit ended it.", _citations(chance), "signals")
        return AnalysedRun(failed, attribution=Attribution(run.run_id, (why,)))
    ease = 0.25 * ((task * 5) % 7 - 3) / 3
    return _judged(chance, run, min(max(skill + ease + chance.gauss(0, 0.12), 0.02), 0.98))


def _usage(chance: random.Random, wall: float, usd: float | None) -> Usage:
    tokens = round(chance.lognormvariate(12, 0.5))
    return Usage(
        wall, wall * 0.4, round(chance.uniform(2, 9) * 2**28), tokens,
        None if usd is None else usd * chance.lognormvariate(0, 0.3), wall * 0.2, tokens // 3,
        tokens * 4 // 5, tokens // 5, 40, 40 if usd is None else 0,
    )  # fmt: skip


def _judged(chance: random.Random, run: RunOutcome, level: float) -> AnalysedRun:
    truth = tuple(
        JudgedClaim(
            f"t{n}", _sentence(chance), Verdict.ENTAILED if chance.random() < level else Verdict.NEUTRAL,
            _sentence(chance), "The conclusion says so under the same condition.",
        )
        for n in range(1, 6)
    )  # fmt: skip
    claims = tuple(_claim(chance, n, level) for n in range(1, chance.randint(6, 12)))
    judgement = Judgement(run.run_id, claims, truth)
    precision = sum(claim.verdict is Verdict.ENTAILED for claim in claims) / len(claims)
    recall = sum(claim.verdict is Verdict.ENTAILED for claim in truth) / len(truth)
    f1 = 2 * precision * recall / (precision + recall) if precision and recall else 0.0
    scored = replace(run, precision=precision, recall=recall, f1=f1)
    return AnalysedRun(
        scored, f"j-{run.run_id}", JUDGE, judgement, _why(chance, judgement), _integrity(chance)
    )


def _claim(chance: random.Random, number: int, level: float) -> JudgedClaim:
    false = Verdict.CONTRADICTED if chance.random() < 0.55 else Verdict.NEUTRAL
    verdict = Verdict.ENTAILED if chance.random() < level else false
    rationale = "The passage states the same direction and the same condition, with a number within rounding."
    return JudgedClaim(f"a{number}", _sentence(chance), verdict, _sentence(chance), rationale)


def _why(chance: random.Random, judgement: Judgement) -> Attribution:
    taxonomy = load()
    types = chance.choices(list(ErrorType), (46, 21, 6, 5, 1, 8, 18, 4, 3, 1, 3, 1), k=8)
    kinds = chance.choices(list(FalsePositiveKind), (60, 22, 8, 10), k=16)
    missed = tuple(
        Missed(
            claim.id, taxonomy.stage_of(type_).id, type_, "20 samples were run where the task asks for 200.",
            _citations(chance), "signals",
        )
        if chance.random() < 0.85
        else Missed(claim.id)
        for claim, type_ in zip(judgement.false_negatives, types, strict=False)
    )  # fmt: skip
    false = tuple(
        FalsePositive(
            claim.id, kind, "It speaks of all cases, the ground truth of some.", "t2", _citations(chance)
        )
        for claim, kind in zip(judgement.false_positives, kinds, strict=False)
    )
    fact = Signal("fewer_samples_than_asked", "20 of 200 samples were run.", _citations(chance), None)
    return Attribution(judgement.run_id, missed, false, (fact,))


def _integrity(chance: random.Random) -> Integrity:
    traces = chance.choices(list(Trace), (60, 15, 6, 12, 7), k=14)
    numbers = tuple(
        NumberTrace(f"{chance.uniform(0, 100):.1f} %", 0, 6, trace, "step 40") for trace in traces
    )
    found = [number for number in numbers if number.trace is Trace.UNTRACED]
    said = (Finding("untraced_number", f"{one.text} occurs in no output and no file.") for one in found)
    return Integrity(numbers, tuple(said), complete=True)


def _citations(chance: random.Random) -> tuple[Citation, ...]:
    return tuple(Citation(chance.randint(1, 4000), step) for step in chance.sample(_STEPS, 2))


def _sentence(chance: random.Random) -> str:
    number = f"{chance.uniform(20, 95):.1f} %"
    subject, effect, condition = (chance.choice(words) for words in (_SUBJECTS, _EFFECTS, _CONDITIONS))
    return f"{subject} {effect} to {number} {condition}."
