"""Names of its own are masked everywhere, those of others nowhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firetrial_parser.soundness.identifiers import masked, own_names
from unit.parser.soundness.proposals import SOUND, WEAK


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We propose FireNet, a network of gates.", ("FireNet",)),
        ("This paper introduces the OrderBench benchmark.", ("OrderBench",)),
        ("A framework called Lantern is built.", ("Lantern",)),
        ("Our method, RAG-X, is compared with others.", ("RAG-X",)),
        ("our GateLM is trained on text", ("GateLM",)),
        ("We study how the DropKey technique scales.", ("DropKey",)),
        ("We propose a new method.", ()),
        ("BERT and GPT-4 are compared on ImageNet.", ()),
        ("We present The results in two parts.", ()),
    ],
)
def test_which_names_are_its_own(text: str, names: tuple[str, ...]) -> None:
    assert own_names(replace(WEAK, abstract=text)) == names


def test_a_name_is_masked_wherever_it_stands_but_not_inside_others() -> None:
    plan = replace(
        WEAK,
        title="FireNet: gates for all",
        hypothesis="FireNet forgets less than BERT.",
        abstract="FireNets and FireNet-2 are others; FireNet's gate is not.",
    )
    found = masked(plan)
    assert found.hypothesis == "NAME-1 forgets less than BERT."
    assert found.abstract == "FireNets and NAME-1-2 are others; NAME-1's gate is not."


def test_data_sets_and_baselines_keep_their_names() -> None:
    plan = replace(SOUND, abstract="We introduce SST-2 again. We propose OrderLens.")
    assert own_names(plan) == ("OrderLens",)
    assert masked(plan).experiments[0].datasets == SOUND.experiments[0].datasets
