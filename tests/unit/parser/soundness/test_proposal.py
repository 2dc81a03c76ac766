"""Proposals as JSON: what is taken, what is refused, and that nothing is lost."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError
from firetrial_parser.soundness.proposal import MAX_TEXT, Experiment, Proposal, read
from unit.parser.soundness.proposals import SOUND, WEAK

TEXTS = st.lists(st.text(max_size=20), max_size=3).map(tuple)
EXPERIMENTS = st.builds(
    Experiment,
    st.text(min_size=1, max_size=20).filter(str.strip),
    TEXTS,
    TEXTS,
    TEXTS,
    st.text(max_size=20),
    TEXTS,
)
PROPOSALS = st.builds(
    Proposal,
    st.text(min_size=1, max_size=30).filter(str.strip),
    st.text(max_size=30),
    st.text(max_size=30),
    st.lists(EXPERIMENTS, min_size=1, max_size=3).map(tuple),
    TEXTS,
    st.text(max_size=20),
)


@given(PROPOSALS)
def test_json_loses_nothing(proposal: Proposal) -> None:
    told = json.loads(json.dumps(proposal.to_json()))
    assert read(told) == proposal == Proposal.from_json(told)


@given(PROPOSALS)
def test_every_text_but_the_title_is_a_part(proposal: Proposal) -> None:
    marked = proposal.mapped(lambda part, text: f"{part}!" if text.strip() else text)
    assert [text for _, text in marked.parts()] == [f"{part}!" for part, _ in proposal.parts()]
    assert marked.title == proposal.title


def test_the_id_follows_from_the_content_and_its_source() -> None:
    assert SOUND.id("", "a@1", "t") == replace(SOUND).id("", "a@1", "t")
    ids = {
        SOUND.id("", "a@1", "t"),
        SOUND.id("", "b@1", "t"),
        WEAK.id("", "a@1", "t"),
        SOUND.id("p", "a@1", "t"),
    }
    assert len(ids) == 4


def test_what_is_wrong_is_told_all_at_once() -> None:
    bad = {
        "hypothesis": 3,
        "experiments": [{"goal": "", "datasets": "SST-2", "result": "93"}, 7],
        "risks": [1],
        "x": 1,
    }
    with pytest.raises(FiretrialError) as caught:
        read(bad)
    assert {fault.field for fault in caught.value.faults} == {
        "hypothesis", "proposal.x", "experiments[0].datasets", "experiments[0].result", "experiments[1]",
        "risks",
    }  # fmt: skip


def test_what_is_too_large_or_empty_is_told() -> None:
    plan = replace(WEAK, hypothesis=" ", abstract="x" * (MAX_TEXT + 1), risks=("r",) * 101, experiments=())
    assert {fault.field for fault in plan.faults()} == {"hypothesis", "abstract", "risks", "experiments"}
    goalless = replace(WEAK, experiments=(Experiment(""),))
    assert [fault.field for fault in goalless.faults()] == ["experiments[0].goal"]


def test_length_is_in_words_without_title_and_names() -> None:
    plan = Proposal(
        "One two three.", abstract="four", experiments=(Experiment("five", ("six",)),), title="x y z"
    )
    assert plan.words == 6
