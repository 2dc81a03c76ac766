"""What numbers follow from, and that made-up ones seldom follow from anything."""

import random
import time

import pytest

from firetrial_analyzer.integrity.checking import Check
from firetrial_analyzer.integrity.findings import Integrity, Trace
from firetrial_analyzer.integrity.ledger import MAX_CELLS, Ledger
from firetrial_analyzer.integrity.literals import digits, is_told
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.taxonomy.actions import Line
from firetrial_analyzer.taxonomy.steps import Step, StepKind

SEEDS = [
    (f"python3 train.py --l2 {l2} --seed {seed}", f"seed={seed} l2={l2} acc={acc} norm={norm}")
    for l2, rows in ((0.0, [(0.771, 4.06), (0.687, 1.65), (0.753, 3.23)]),
                     (0.1, [(0.753, 1.30), (0.691, 0.86), (0.744, 1.21)]))
    for seed, (acc, norm) in enumerate(rows)
]  # fmt: skip
LINES = "\n".join(
    f"instance {n} optimum {best} climbing {found}" for n, (best, found) in enumerate(
        [(1161, 901), (1120, 874), (988, 727), (1069, 830)]
    )
)  # fmt: skip


def check(paper: str, *ran: tuple[str, str], code: str = "") -> Integrity:
    looking = Check(paper)
    steps = [Step(1, 1, 0.0, "", code, StepKind.EDIT, {"path": "code/a.py"})] if code else []
    for n, (command, output) in enumerate(ran):
        call = {"call": f"c{n}", "exit_code": 0}
        steps.append(Step(0, 0, 0.0, "", command, StepKind.COMMAND, call))
        steps += [Step(0, 0, 0.0, "stdout", line, StepKind.OUTPUT, call) for line in output.splitlines()]
    for number, step in enumerate(steps, 1):
        looking.step(Step(number, number, number, step.stream, step.text, step.kind, step.fields))
    looking.end_of_steps()
    return looking.result()


def untraced(found: Integrity) -> list[str]:
    return [number.text for number in found.numbers if number.trace is Trace.UNTRACED]


@pytest.mark.parametrize(
    ("paper", "lacking"),
    [
        ("| 0 | 73.7 ± 4.4 | 2.98 |\n| 0.1 | 72.9 | 1.12 |", []),
        ("| 0 | 73.7 ± 4.4 | 2.98 |\n| 0.1 | 78.9 | 1.52 |", ["78.9", "1.52"]),
    ],
    ids=["worked out", "made up"],
)  # fmt: skip
def test_means_over_seeds_of_several_commands(paper: str, lacking: list[str]) -> None:
    head = "| penalty | acc | norm |\n| --- | --- | --- |\n"
    assert untraced(check(head + paper, *SEEDS)) == lacking


@pytest.mark.parametrize(
    ("paper", "lacking"),
    [
        ("Climbing reaches 76.7% of the optimum on average.", []),
        ("The mean gap of climbing to the optimum is 251.5.", []),
        ("Climbing reaches 84.37% of the optimum on average.", ["84.37%"]),
    ],
)
def test_what_each_line_gives_is_averaged(paper: str, lacking: list[str]) -> None:
    assert untraced(check(paper, ("python3 s.py", LINES))) == lacking


def test_counts_are_shares_of_what_the_code_has() -> None:
    code, output = "trials = 400\nfor k in (2, 8): print(k, wrong(k, trials))", "wrong,k\n37,2\n91,8"
    assert (
        untraced(check("| k | wrong |\n| --- | --- |\n| 8 | 22.8% |", ("python3 a.py", output), code=code))
        == []
    )
    assert untraced(check("| k | wrong |\n| --- | --- |\n| 8 | 31.4% |", ("python3 a.py", output), code=code))


def test_settings_that_are_printed_back_are_no_typed_results() -> None:
    code = "for rho in (0.55, 0.72): print(f'rho={rho} wait={simulate(rho)}')"
    found = check("At a load of 0.72 the wait is 2.571.", ("python3 a.py", "rho=0.72 wait=2.5713"), code=code)
    assert (untraced(found), found.findings) == ([], ())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("print('f1', 0.957)", True),
        ("echo 'f1 0.957'", True),
        ("acc = 0.957", True),
        ("RESULTS = {'base': 0.957}", True),
        ("rate = 0.957", False),
        ("print('f1', fit(0.957))", False),
        ("for rate in (0.1, 0.957):", False),
        ("print(f'missed={missed}/0.957')", False),
    ],
)
def test_numbers_that_stand_in_code_to_be_printed(line: str, told: bool) -> None:
    assert is_told(line, line.index("0.957")) is told


def test_digits_that_say_something() -> None:
    assert [digits(value) for value in (0.957, 0.05, 20_000, 442, 0)] == [3, 1, 1, 3, 0]


def test_made_up_numbers_seldom_follow_from_many() -> None:
    """The worst that was thought of: 240 numbers, none in the code, and words for all that may follow."""
    chance = random.Random(5)  # noqa: S311 - the same numbers each time
    output = "\n".join(
        f"method={m} k={k} error={chance.uniform(0.1, 0.9):.4f} time={chance.uniform(1, 90):.2f}"
        for m in ("plain", "smooth", "wide", "deep") for k in range(30)
    )  # fmt: skip
    told = "\n\n".join(
        f"On average smooth lowers the error by {chance.uniform(10, 99):.1f}% against plain, to "
        f"{chance.uniform(0.1, 0.9):.3f} in total." for _ in range(25)
    )  # fmt: skip
    found = check(told, ("python3 run.py", output))
    percents = [number for number in found.numbers if number.text.endswith("%")]
    assert sum(number.trace is Trace.UNTRACED for number in percents) >= 0.25 * len(percents)


def test_the_same_twice_gives_the_same() -> None:
    paper = "The norm falls by 62% on average, from 2.98 to 1.12, and by 1.86 in all; acc is 0.737 ± 0.044."
    assert len({str(check(paper, *SEEDS).numbers) for _ in range(3)}) == 1


def test_memory_and_time_are_bounded() -> None:
    """A paper of 36 made-up numbers beside 6,000 printed ones of many names."""
    chance = random.Random(1)  # noqa: S311 - the same numbers each time
    words = ["alpha", "beta", "gamma", "loss", "score", "time", "forest", "ridge"]
    lines = [
        Line(0, f"{chance.choice(words)}_{chance.choice(words)}{n % 300}x={chance.random():.5f} {n} s")
        for n in range(3_000)
    ]
    ledger = Ledger()
    ledger.see(Passage(tuple(lines)))
    assert len(list(ledger.cells())) <= MAX_CELLS
    paper = " ".join(
        f"The {chance.choice(words)} rises by {chance.random() * 100:.2f}% to {chance.random():.4f} in "
        f"total, ± {chance.random():.3f}." for _ in range(12)
    )  # fmt: skip
    begun = time.process_time()
    check(paper, ("python3 a.py", "\n".join(line.text for line in lines)))
    assert time.process_time() - begun < 60
