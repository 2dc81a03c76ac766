import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.captions import caption_start, split_caption


@pytest.mark.parametrize(
    ("text", "label", "kind", "rest"),
    [
        ("Figure 1: A causal model.", "Figure 1", "figure", "A causal model."),
        ("Fig. 12. Output of the tool.", "Figure 12", "figure", "Output of the tool."),
        ("FIGURE 3 | Effect of size", "Figure 3", "figure", "Effect of size"),
        ("Table A.2: Settings", "Table A.2", "table", "Settings"),
        ("TABLE II. Scores", "Table II", "table", "Scores"),
        ("Figure S1: More", "Figure S1", "figure", "More"),
        ("Supplementary Figure 4: More", "Supplementary Figure 4", "figure", "More"),
        ("Table 5", "Table 5", "table", ""),
    ],
)
def test_label_is_read_and_spelt_out(text: str, label: str, kind: str, rest: str) -> None:
    start = split_caption(text)
    assert start is not None
    assert (start.label, start.kind, start.rest) == (label, kind, rest)


@pytest.mark.parametrize(
    "text",
    ["Figures 1 and 2: both", "figure 3: lower case", "Tabled 3: no", "Figure: none", "Table 3.5xy", ""],
)
def test_what_is_no_label(text: str) -> None:
    assert split_caption(text) is None


def test_a_sentence_that_goes_on_is_no_caption() -> None:
    assert not caption_start("Table 1. However, the sample is large", continues=True, distinct=False)
    assert not caption_start("Figure 3 shows that models fail", continues=False, distinct=False)
    assert not caption_start("Figure 3 We see", continues=True, distinct=True)


def test_a_mark_or_a_distinct_label_makes_a_caption() -> None:
    assert caption_start("Table 1: Accuracy", continues=True, distinct=False)
    assert caption_start("Table 1. Accuracy", continues=False, distinct=False)
    assert caption_start("Figure 4 Overview of the parts", continues=False, distinct=True)


@given(st.text(max_size=200))
def test_any_text_is_read_without_error(text: str) -> None:
    start = split_caption(text)
    assert start is None or text.endswith(start.rest)
