"""Injected flaws: everything but the hypothesis is made not to fit."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.soundness.flaws import injected
from firetrial_parser.soundness.proposal import Experiment, Proposal
from unit.parser.soundness.proposals import SOUND


def test_data_sets_and_metrics_are_replaced_and_the_hypothesis_is_not() -> None:
    plan = replace(SOUND, hypothesis="Accuracy on SST-2 depends on order.", abstract="We look at SST-2.")
    found = injected(plan)
    assert found.hypothesis == plan.hypothesis
    assert "SST-2" not in found.abstract
    for before, after in zip(plan.experiments, found.experiments, strict=True):
        assert not set(before.datasets) & set(after.datasets)
        assert not set(before.metrics) & set(after.metrics)
        assert len(set(after.datasets)) == len(before.datasets)
        assert (after.models, after.baselines) == (before.models, before.baselines)
    assert found.experiments[0].datasets[0] == found.experiments[1].datasets[0] in found.abstract


def test_the_same_proposal_gets_the_same_flaws() -> None:
    assert injected(SOUND) == injected(SOUND)
    other = replace(SOUND, risks=("None.",))
    assert injected(other).experiments != injected(SOUND).experiments


def test_without_data_and_metrics_nothing_changes() -> None:
    plan = Proposal("A is better than B.", experiments=(Experiment("Compare."),))
    assert injected(plan) == plan


@given(
    st.lists(st.text(min_size=1, max_size=12), max_size=5),
    st.lists(st.text(min_size=1, max_size=12), max_size=5),
)
def test_any_names_are_replaced(datasets: list[str], metrics: list[str]) -> None:
    plan = Proposal("A.", experiments=(Experiment("B.", tuple(datasets), metrics=tuple(metrics)),))
    (after,) = injected(plan).experiments
    assert len(after.datasets) == len(datasets)
    assert all(
        new.lower() != old.lower() for new, old in zip(after.datasets, datasets, strict=True) if old.strip()
    )
