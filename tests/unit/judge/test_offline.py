"""How right the offline judge is, and that it is the same every time."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from firetrial_judge.judgement import judge_texts
from firetrial_judge.offline import OfflineBackend, OfflineJudge, load
from firetrial_judge.pairs import read_pairs
from firetrial_judge.verdict import Verdict

DATA = Path(__file__).parent / "data"
GOLD = {"entailed": "ENTAILED", "contradiction": "CONTRADICTED", "neutral": "NEUTRAL"}


@pytest.fixture(scope="module")
def judge(offline: OfflineBackend) -> OfflineJudge:
    return offline.judge


def decide(judge: OfflineJudge, premise: str, hypothesis: str) -> Verdict:
    return judge.rule(judge.read(premise), hypothesis).verdict


def quality(judge: OfflineJudge, *files: Path) -> tuple[float, float, float]:
    """Accuracy of entailed against the rest, and of all three; share of contradictions called entailed."""
    pairs: list[dict[str, Any]] = [
        json.loads(line) for file in files for line in file.read_text().splitlines()
    ]
    found = [(GOLD[p["label"]], decide(judge, p["premise"], p["hypothesis"])) for p in pairs]
    binary = sum((gold == "ENTAILED") == (verdict == "ENTAILED") for gold, verdict in found)
    opposite = [verdict for gold, verdict in found if gold == "CONTRADICTED"]
    return (
        binary / len(found),
        sum(gold == verdict for gold, verdict in found) / len(found),
        opposite.count(Verdict.ENTAILED) / len(opposite),
    )


@pytest.mark.parametrize(
    ("files", "binary", "three", "inverted"),
    [
        (["findings_dev", "pairs_dev", "pairs_held_out"], 0.87, 0.74, 0.04),
        (["findings_held_out"], 0.85, 0.75, 0.05),
    ],
    ids=["development", "held out"],
)
def test_quality_on_our_pairs(
    judge: OfflineJudge, files: list[str], binary: float, three: float, inverted: float
) -> None:
    measured = quality(judge, *(DATA / f"{name}.jsonl" for name in files))
    assert measured[0] >= binary, measured
    assert measured[1] >= three, measured
    assert measured[2] <= inverted, measured


@pytest.mark.needs("shared")
def test_quality_on_pairs_of_another_hand(judge: OfflineJudge, shared: Path) -> None:
    measured = quality(judge, shared / "firebench/nli_probe.jsonl")
    assert measured[0] >= 0.80, measured
    assert measured[2] <= 0.05, measured


def test_fifty_pairs_a_second(judge: OfflineJudge) -> None:
    pairs = read_pairs((DATA / "findings_dev.jsonl").read_text())[:200]
    fresh = load().judge  # nothing is in its cache
    begun = time.process_time()
    fresh.rule_pairs([(pair.premise, pair.hypothesis) for pair in pairs])
    assert len(pairs) / (time.process_time() - begun) >= 50


TEXT = """\
## Results
Accuracy at 40% noise is 59.0% with a single neighbour and 96.0% with k = 15 (Table 1).
Larger k makes the classifier more robust to label noise, while it slows down prediction.

- Changing the distance metric has no effect on accuracy.
"""


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("Robustness to label noise grows with k.", Verdict.ENTAILED),
        ("Larger k makes the classifier less robust to label noise.", Verdict.CONTRADICTED),
        ("The distance metric does not affect accuracy.", Verdict.ENTAILED),
        ("The distance metric changes accuracy.", Verdict.CONTRADICTED),
        ("Accuracy at 40% noise is 71.5% with a single neighbour.", Verdict.CONTRADICTED),
        ("Accuracy at 40% noise is 59.3% with a single neighbour.", Verdict.ENTAILED),
        ("Random forests need more memory.", Verdict.NEUTRAL),
    ],
)
def test_claims_against_a_text(judge: OfflineJudge, claim: str, verdict: Verdict) -> None:
    ruling = judge.rule(judge.read(TEXT), claim)
    assert ruling.verdict is verdict, ruling
    assert ruling.rationale
    if verdict is not Verdict.NEUTRAL:
        assert ruling.evidence is not None
        evidence = TEXT[ruling.evidence.start : ruling.evidence.end]
        assert any(word in evidence for word in ("robust", "distance", "Accuracy at"))


STUDY = """\
A single neighbour is the choice that noise hits hardest: when 40% of the labels are flipped, accuracy at
k = 1 falls by 39.5 points to 59.0%. The fall at k = 1 is close to linear, between 9.6 and 10.4 points for
each further 10% of flipped labels. The larger k is, the less accuracy label noise costs. At k = 15, flipping
40% of the labels costs only 1.3 points.
"""


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("With 40% wrong labels, accuracy at k = 1 drops by 39.0 points to 59.8%.", Verdict.ENTAILED),
        ("With 40% wrong labels, accuracy at k = 1 drops by 25.0 points.", Verdict.CONTRADICTED),
        ("With 40% wrong labels, k = 15 loses 1.5 points.", Verdict.ENTAILED),
        ("With 40% wrong labels, k = 45 loses 39.5 points.", Verdict.NEUTRAL),
        ("Label noise destroys the accuracy of the classifier whatever k is.", Verdict.NEUTRAL),
    ],
)
def test_a_number_is_held_against_the_sentence_with_its_condition(
    judge: OfflineJudge, claim: str, verdict: Verdict
) -> None:
    ruling = judge.rule(judge.read(STUDY), claim)
    assert ruling.verdict is verdict, ruling


@pytest.mark.parametrize(("premise", "claim"), [("", "x rises"), ("x rises", ""), ("\x00", "\x00")])
def test_nothing_is_neutral(judge: OfflineJudge, premise: str, claim: str) -> None:
    assert decide(judge, premise, claim) is Verdict.NEUTRAL


def test_a_hostile_text_is_judged_in_bounded_time(judge: OfflineJudge) -> None:
    begun = time.process_time()
    decide(judge, "a " * 500_000 + "\n" + "(" * 100_000, "Accuracy " * 5_000)
    assert time.process_time() - begun < 10


def test_threads_agree(judge: OfflineJudge) -> None:
    claims = ["Accuracy falls with noise.", "Larger k is more robust.", "Noise has no effect."] * 8
    alone = [decide(judge, TEXT, claim) for claim in claims]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda claim: decide(judge, TEXT, claim), claims)) == alone


async def test_the_demo_s_careful_conclusion_beats_the_careless_ones(offline: OfflineBackend) -> None:
    truth = (
        "With clean labels small neighbourhoods are the most accurate, and accuracy declines from 98.5% at "
        "k = 1 to 94.6% at k = 45. The single-neighbour classifier is hit hardest by noise. The loss shrinks "
        "as k grows: flipping 40% of the labels costs 39.5 points at k = 1 and 0.4 points at k = 45."
    )
    careful = (
        "Without label noise accuracy goes down as k goes up. k = 1 suffers most from label noise. With 40% "
        "wrong labels it loses 39.1 points at k = 1 and 0.3 points at k = 45."
    )
    careless = "Label noise destroys the accuracy of nearest-neighbour classifiers whatever k is."
    good = await judge_texts(offline, run_id="", conclusion=careful, truth=truth)
    bad = await judge_texts(offline, run_id="", conclusion=careless, truth=truth)
    assert (good.score.f1 or 0) > (bad.score.f1 or 0) + 0.3
