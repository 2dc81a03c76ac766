"""What gives a paper or a finding away by its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.leaks.leak import Leak, LeakKind, Secrets
from unit.parser.leaks.paper import FINDINGS, METHOD, document

SECRETS = Secrets.of(document(), FINDINGS, METHOD)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("See Slow Cooling Wins: How Furnace Time Changes the Hardness of Steel Samples.", LeakKind.TITLE),
        ("SLOW COOLING  WINS — how furnace time changes the hardness of steel samples", LeakKind.TITLE),
        ("This is about slow\ncooling wins.", LeakKind.TITLE),
        ("A study of how furnace time changes the hardness.", LeakKind.TITLE),
        ("As Ada Byron has shown, time matters.", LeakKind.AUTHOR),
        ("As C. M. Babbage has shown, time matters.", LeakKind.AUTHOR),
        ("Follow Byron et al. in this.", LeakKind.AUTHOR),
        ("Follow Byron and Babbage (2024) in this.", LeakKind.AUTHOR),
        ("Begin with arXiv:2401.01234.", LeakKind.ADDRESS),
        ("Begin with arXiv 2401 01234 v2.", LeakKind.ADDRESS),
        ("https://arxiv.org/pdf/2401.01234v1 has more.", LeakKind.ADDRESS),
        ("https://doi.org/10.1000/steel.42", LeakKind.ADDRESS),
        ("openreview.net/forum?id=aB3dE5fG7h", LeakKind.ADDRESS),
        ("They saw that hardness increases from 410 at ten minutes to 655.", LeakKind.FINDING_PHRASE),
        ("At forty minutes of heating the hardness reaches 655, up from 410 at ten.", LeakKind.FINDING),
        ("The hardness goes up with heating.\nIt is 410 at ten minutes, at forty 655.", LeakKind.FINDING),
        ("Rest it in sand between any two of the steps.", LeakKind.METHOD),
        ("Use StepHeat.", LeakKind.METHOD),
        ("Between any two steps each sample rests for an hour in sand.", LeakKind.METHOD),
        ("All were taken from the same bar of steel by one person.", LeakKind.PAPER_PHRASE),
        ("All were taken from the same bar. Of steel by one person.", LeakKind.PAPER_PHRASE),
    ],
)
def test_what_gives_it_away(text: str, kind: LeakKind) -> None:
    public = f"How does heating change steel?\n\n{text}\n\nMeasure five times."
    assert kind in {leak.kind for leak in SECRETS.leaks(public)}
    assert SECRETS.given_away_by(text)


@pytest.mark.parametrize(
    "text",
    [
        "Data: 24 samples of one steel.",
        "Plato was no metallurgist.",
        "How does the time in a furnace change the hardness of steel?",
        "Measure whether the hardness is 410 at ten minutes and 655 at forty minutes of heating.",
        "Version 2401 of 01235 samples.",
        "Lovely Byron Bay.",
        "",
    ],
)
def test_what_does_not(text: str) -> None:
    assert SECRETS.leaks(text) == []


def test_a_question_that_takes_the_finding_for_granted_is_none() -> None:
    asked = "Why does hardness increase from 410 to 655 between ten and forty minutes of heating?"
    assert {leak.kind for leak in SECRETS.leaks(asked)} == {LeakKind.FINDING}


def test_the_leak_is_the_sentence_and_holds_nothing_secret() -> None:
    public = "Use 24 samples. Ada Byron did\nso, too. Measure each five times."
    assert SECRETS.leaks(public) == [Leak(LeakKind.AUTHOR, "Ada Byron did so, too.", "Ada Byron")]


def test_only_the_leaking_sentence_is_dropped() -> None:
    text = "Use 24 samples. Ada Byron did so. Measure each five times."
    assert SECRETS.scrub(text) == "Use 24 samples. Measure each five times."


def test_what_the_paper_gives_out_itself_is_no_leak() -> None:
    given_out = "The samples of the first series were all taken from the same bar of steel by one person."
    assert SECRETS.given_away_by(given_out)
    assert not Secrets.of(document(), FINDINGS, [], [given_out]).given_away_by(given_out)


def test_without_a_paper_the_findings_alone_are_looked_for() -> None:
    secrets = Secrets.of_findings(FINDINGS)
    assert secrets.given_away_by(FINDINGS[0])
    assert not secrets.given_away_by("As Ada Byron has shown in arXiv:2401.01234.")


@given(st.text(max_size=300))
def test_any_text_is_taken_and_its_leaks_stand_in_it(text: str) -> None:
    for leak in SECRETS.leaks(text):
        assert leak.sentence in " ".join(text.split()) or set(leak.sentence.split()) <= set(text.split())
