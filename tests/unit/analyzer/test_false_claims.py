import json
from pathlib import Path

import pytest

from firetrial_analyzer.attribution import attribute
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.false_claims import overgeneralization
from firetrial_analyzer.taxonomy.catalogue import FalsePositiveKind

TRUTH = (
    JudgedClaim("t1", "With 40% label noise, small k loses far more accuracy than large k.", Verdict.NEUTRAL),
    JudgedClaim("t2", "Without label noise, k = 1 is as accurate as larger k.", Verdict.ENTAILED),
    JudgedClaim("t3", "Distance weighting helps on some data sets.", Verdict.CONTRADICTED),
)


def judged(text: str, verdict: Verdict = Verdict.NEUTRAL, evidence: str = "") -> Judgement:
    return Judgement("run", (JudgedClaim("c1", text, verdict, evidence=evidence),), TRUTH)


@pytest.mark.parametrize(
    ("text", "kind", "against"),
    [
        ("Distance weighting helps on every data set.", FalsePositiveKind.OVERGENERALIZED, "t3"),
        ("Distance weighting helps on most data sets.", FalsePositiveKind.OVERGENERALIZED, "t3"),
        ("Larger k is always more accurate.", FalsePositiveKind.OVERGENERALIZED, "t2"),
        ("Small k loses far more accuracy than large k.", FalsePositiveKind.OVERGENERALIZED, "t1"),
        ("Training took eleven minutes on one laptop.", FalsePositiveKind.UNRELATED, None),
        ("The moons of Jupiter orbit in resonance.", FalsePositiveKind.UNRELATED, None),
        ("Distance weighting makes large k slower.", FalsePositiveKind.ALTERNATIVE, "t3"),
        ("With 10% label noise, small k loses no accuracy.", FalsePositiveKind.ALTERNATIVE, "t1"),
    ],
)
def test_a_neutral_claim_is_typed_by_its_words(
    text: str, kind: FalsePositiveKind, against: str | None
) -> None:
    (found,) = attribute(judged(text)).false_positives
    assert found.kind is kind, found.rationale
    assert found.rationale
    assert found.against in {claim.id for claim in TRUTH} if against is None else found.against == against


def test_a_contradicted_claim_is_contradictory_however_it_is_worded() -> None:
    judgement = judged("Jupiter always has moons.", Verdict.CONTRADICTED, "k = 1 is as accurate as larger k")
    (found,) = attribute(judgement).false_positives
    assert (found.kind, found.against) == (FalsePositiveKind.CONTRADICTORY, "t2")


@pytest.mark.parametrize("verdict", [Verdict.ENTAILED, Verdict.UNSCORED])
def test_a_true_or_unscored_claim_is_no_false_positive(verdict: Verdict) -> None:
    assert attribute(judged("Distance weighting helps on every data set.", verdict)).false_positives == ()


def test_missing_truth_is_listed_in_the_judges_order() -> None:
    assert attribute(judged("anything")).missing == ("t1", "t3")


def test_unscored_truth_is_not_missing() -> None:
    judgement = Judgement("run", (), (JudgedClaim("t", "x", Verdict.UNSCORED),))
    assert attribute(judgement).missing == ()


def test_the_judges_evidence_wins_over_the_wording() -> None:
    text = "Distance weighting helps on every data set."
    (found,) = attribute(judged(text, evidence="With 40% label noise, small k loses")).false_positives
    assert found.against == "t1"


def test_without_any_truth_a_claim_is_held_against_nothing() -> None:
    judgement = Judgement("run", (JudgedClaim("c", "k matters", Verdict.NEUTRAL),), ())
    (found,) = attribute(judgement).false_positives
    assert (found.kind, found.against) == (FalsePositiveKind.UNRELATED, "")


@pytest.mark.parametrize(
    ("claim", "truth"),
    [
        ("Annotators agree with each other.", "Annotators agree with the model."),
        ("It does not change any result.", "It changes the results."),
        ("Accuracy reaches 91%.", "Accuracy reaches 91% by epoch 5."),
        ("Some models fail.", "All models fail."),
        ("Most models fail.", "Models fail."),
        ("Models fail if prompts are long.", "Models fail when prompts are short."),
        ("Accuracy of all models falls.", "Accuracy of every model falls."),
    ],
)
def test_what_is_no_stretch(claim: str, truth: str) -> None:
    assert overgeneralization(claim, truth) == ""


@pytest.mark.parametrize(
    ("claim", "truth", "names"),
    [
        ("The effect holds for any model.", "The effect holds for GPT-4.", "all cases"),
        ("Models usually fail.", "Models may fail.", "most cases"),
        ("Accuracy falls.", "Accuracy falls when the context exceeds 4.5 thousand tokens.", "4.5 thousand"),
        ("Accuracy drops on long inputs.", "Accuracy drops on long inputs at k=1 alone.", "at k=1"),
    ],
)
def test_a_stretch_names_what_was_stretched(claim: str, truth: str, names: str) -> None:
    assert names in overgeneralization(claim, truth)


@pytest.mark.needs("shared")
def test_related_pairs_stay_on_topic_and_crossed_pairs_do_not(shared: Path) -> None:
    pairs = [json.loads(line) for line in (shared / "firebench/nli_probe.jsonl").read_text().splitlines()]
    neutral = [pair for pair in pairs if pair["label"] == "neutral"]
    related = [_is_unrelated(pair["hypothesis"], pair["premise"]) for pair in neutral]
    crossed = [
        _is_unrelated(claim["hypothesis"], truth["premise"])
        for claim in pairs
        for truth in pairs
        if claim is not truth
    ]
    assert sum(related) / len(related) <= 0.15
    assert sum(crossed) / len(crossed) >= 0.94


def _is_unrelated(claim: str, truth: str) -> bool:
    judgement = Judgement(
        "run", (JudgedClaim("c", claim, Verdict.NEUTRAL),), (JudgedClaim("t", truth, Verdict.NEUTRAL),)
    )
    return attribute(judgement).false_positives[0].kind is FalsePositiveKind.UNRELATED
