import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.findings import citations, cited_labels, conclusions, is_finding
from unit.parser.study import document


@pytest.mark.parametrize(
    ("sentence", "labels"),
    [
        ("As shown in Figure 3, it falls.", {"Figure 3"}),
        ("See Figs. 2-4 and Table 1.", {"Figure 2", "Figure 3", "Figure 4", "Table 1"}),
        ("Tables 2, 3, and 5 agree.", {"Table 2", "Table 3", "Table 5"}),
        ("Figure 2a and Table A.1", {"Figure 2", "Table A.1"}),
        ("The figure shows nothing.", set()),
        ("Figure 1-900000000 is hostile.", {"Figure 1", "Figure 900000000"}),
    ],
)
def test_labels(sentence: str, labels: set[str]) -> None:
    assert cited_labels(sentence) == labels


@pytest.mark.parametrize(
    "sentence",
    [
        "Accuracy falls from 90% to 55% as noise grows.",
        "We find that models rarely use the middle of a text.",
        "The two methods perform comparably and neither outperforms the other.",
        "Figure 2 shows that GPT-4 is better calibrated and improves further.",
        "Insertion sort needs the fewest comparisons on a sorted list, 399 (Table 1).",
    ],
)
def test_findings(sentence: str) -> None:
    assert is_finding(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Figure 2 presents an example prompt.",
        "Table 3 lists the higher settings of each run.",
        "The larger models are listed in Appendix B.",
        "We list the larger models in Table 2.",
        "See Table 4 for more details on the data.",
        "We increase or decrease the number of documents (Figure 4).",
        "Does accuracy fall with noise?",
        "Higher still.",
    ],
)
def test_pointers_and_set_ups(sentence: str) -> None:
    assert not is_finding(sentence)


def test_conclusions_are_the_citing_findings() -> None:
    found = document()
    cited = citations(found)
    assert len(cited["Table 1"]) == 2
    first, second = conclusions(found, cited["Table 1"])
    assert first.startswith("Hardness increases from 410")
    assert second.startswith("The gain is largest")


def test_sentences_after_a_pointer_count_until_another_label() -> None:
    found = document(
        "# T\n\n## Results\n\nFigure 1 shows the scores of all. Scores fall by 3 points. "
        "They fall most for B (Table 2).\n\nFigure 1: Scores.\n"
    )
    assert conclusions(found, citations(found)["Figure 1"]) == ["Scores fall by 3 points."]


@given(st.text(max_size=300))
def test_any_sentence_is_judged(sentence: str) -> None:
    assert is_finding(sentence) in (True, False)
    assert all(label.startswith(("Figure ", "Table ")) for label in cited_labels(sentence))
