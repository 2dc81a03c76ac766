import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.embedding import MAX_CHARACTERS, HashedEmbedder

TRAIN = "def train(model, epochs):\n    for epoch in range(epochs):\n        model.fit(data, lr=0.1)\n"


def distance(one: str, other: str) -> float:
    left, right = HashedEmbedder().embed([one, other])
    return float(1 - left @ right)


def test_like_code_is_near_and_other_code_is_far() -> None:
    other = "SELECT name, count(*) FROM runs WHERE state = 'ended' GROUP BY name ORDER BY 2"
    assert distance(TRAIN, TRAIN) == pytest.approx(0)
    assert distance(TRAIN, TRAIN.replace("0.1", "0.01")) < 0.1
    assert distance(TRAIN, other) > 0.7


def test_names_are_taken_apart_and_spaces_do_not_count() -> None:
    assert distance("trainModel(x)", "train_model( x )") < distance("trainModel(x)", "evaluate(y)")
    assert distance("a = 1\nb = 2", "a=1 b=2") == pytest.approx(0)


def test_the_vector_of_a_text_is_the_same_everywhere() -> None:
    (row,) = HashedEmbedder().embed(["x = 1"])
    assert HashedEmbedder.name == "hashed-tokens/1"
    places = {int(place): round(float(row[place]), 6) for place in np.flatnonzero(row)}
    assert places == {73: -0.447214, 643: 0.447214, 841: -0.447214, 924: 0.447214, 951: 0.447214}


@given(st.lists(st.text(max_size=200), max_size=5))
def test_rows_are_unit_vectors_or_zeros(codes: list[str]) -> None:
    rows = HashedEmbedder().embed(codes)
    assert rows.shape == (len(codes), HashedEmbedder.WIDTH)
    for code, row in zip(codes, rows, strict=True):
        assert np.linalg.norm(row) == pytest.approx(1 if code.strip() else 0) or not np.linalg.norm(row)


def test_what_is_too_long_is_not_looked_at() -> None:
    long = "a b " * MAX_CHARACTERS
    assert distance(long, long + "something else") == pytest.approx(0)
