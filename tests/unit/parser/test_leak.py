from dataclasses import replace

import pytest

from firetrial_parser.leak import Secrets, without_labels
from unit.parser.study import document

TRUTH = "Hardness increases from 410 at ten minutes to 655 at forty minutes of heating."


@pytest.fixture
def secrets() -> Secrets:
    paper = replace(document(), authors=("Ada Byron", "Plato"), arxiv_id="2401.01234")
    return Secrets.of(paper, TRUTH, "Each sample is heated in one furnace and cooled in oil at once.")


@pytest.mark.parametrize(
    "text",
    [
        "They saw that hardness increases from 410 at ten minutes to 655.",
        "How Heating Time Changes  the Hardness of Steel Samples",
        "As Ada Byron has shown.",
        "See arXiv:2401.01234v2.",
        "Heated in one furnace and cooled in oil at last.",
    ],
)
def test_what_gives_it_away(secrets: Secrets, text: str) -> None:
    assert secrets.given_away_by(text)


@pytest.mark.parametrize("text", ["Data: 24 samples of one steel.", "Plato was no metallurgist.", ""])
def test_what_does_not(secrets: Secrets, text: str) -> None:
    assert not secrets.given_away_by(text)


def test_only_the_leaking_sentence_is_dropped(secrets: Secrets) -> None:
    text = "Use 24 samples. Ada Byron did so. Measure each five times."
    assert secrets.scrub(text) == "Use 24 samples. Measure each five times."


def test_labels_go_from_findings() -> None:
    assert without_labels(
        [
            "It falls by 3 points (Table 1).",
            "As shown in Figure 5, changing it costs 20%.",
            "Figure 2a shows that costs rise.",
            "In Figure 4, we show that size helps.",
            "Table 2 lists what remains.",
        ]
    ) == [
        "It falls by 3 points.",
        "Changing it costs 20%.",
        "Costs rise.",
        "Size helps.",
        "Table 2 lists what remains.",
    ]
