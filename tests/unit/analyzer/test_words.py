import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.words import content, dice, share, stem, tokens, topic


def test_a_hyphen_parts_words_but_not_names() -> None:
    assert tokens("Mid-context drop of GPT-4 by 3.5% (k-NN).") == [
        "mid", "context", "drop", "of", "gpt-4", "by", "3.5%", "k", "nn",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("left", "right"),
    [("improves", "improved"), ("accuracies", "accuracy"), ("memorisation", "memorise"), ("noisy", "noise")],
)
def test_common_endings_do_not_hide_a_word(left: str, right: str) -> None:
    assert content(left) == content(right)


def test_a_name_with_digits_is_not_stemmed() -> None:
    assert stem("gpt-4s") == "gpt-4s"


def test_bare_numbers_are_content_but_no_topic() -> None:
    assert content("accuracy of 91%") - topic("accuracy of 91%") == {"91%"}


@given(st.text(), st.text())
def test_overlaps_lie_between_none_and_all(left: str, right: str) -> None:
    one, other = content(left), content(right)
    assert 0 <= share(one, other) <= 1
    assert dice(one, other) == dice(other, one)
    assert share(one, one) == dice(one, one) == (1.0 if one else 0.0)
