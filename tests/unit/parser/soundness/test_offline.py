"""The assessor that counts features: what it finds is told, and each of them can tip it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firetrial_parser.asking import Bill
from firetrial_parser.soundness.assessment import Bucket, Mode, assess
from firetrial_parser.soundness.offline import OfflineAssessor, features, opinion
from firetrial_parser.soundness.proposal import Experiment, Proposal
from unit.parser.soundness.proposals import SOUND, WEAK


@pytest.mark.parametrize("mode", Mode)
def test_the_sound_plan_passes_and_the_weak_one_does_not(mode: Mode) -> None:
    assert opinion(SOUND, mode).bucket is Bucket.HIGH
    assert opinion(WEAK, mode).bucket is Bucket.LOW


def test_the_rationale_says_where_each_feature_was_found() -> None:
    told = opinion(SOUND, Mode.STANDARD).rationale
    assert "controls: 'held fixed' in experiments[0].setup" in told
    assert "'a fixed order'" in told
    assert (
        opinion(WEAK, Mode.STANDARD).rationale.endswith("risks or limitations, a set-up for each experiment.")
        is False
    )


def without(name: str) -> Proposal:
    """The sound plan without one thing, wherever it stands."""
    data = SOUND.to_json()
    for experiment in data["experiments"]:
        experiment[name] = []
    return Proposal.from_json(data)


@pytest.mark.parametrize("name", ["baselines", "metrics", "datasets"])
def test_the_aggressive_mode_needs_all_that_is_needed(name: str) -> None:
    assert opinion(without(name), Mode.STANDARD).bucket is Bucket.HIGH
    assert opinion(without(name), Mode.AGGRESSIVE).bucket is Bucket.LOW


def test_related_work_counts_for_nothing() -> None:
    boast = replace(WEAK, related_work="Others used controls, ablations, 5 seeds and confidence intervals.")
    assert features(boast) == features(WEAK)


def test_confidence_grows_with_the_distance_and_stays_in_range() -> None:
    nothing = Proposal("It is.", experiments=(Experiment("Look."),))
    for mode in Mode:
        found = [opinion(plan, mode).confidence for plan in (SOUND, WEAK, nothing)]
        assert all(1 <= confidence <= 5 for confidence in found)
    assert opinion(nothing, Mode.AGGRESSIVE).confidence == 5
    assert opinion(without("metrics"), Mode.AGGRESSIVE).confidence < 5


async def test_it_says_that_it_is_no_reader() -> None:
    assessed = await assess(SOUND, Mode.STANDARD, OfflineAssessor(), Bill())
    assert assessed.assessor == "offline-1"
    assert "no known quality" in assessed.quality
