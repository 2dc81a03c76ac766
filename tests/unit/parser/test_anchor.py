import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.anchor import Anchor, Found, locate

PAGES = (
    "A first page on noise.\nIts accuracy falls from 90.1% to 55.4% as noise grows, in every clas-\nsifier.",
    "The second page goes on: “ﬁne” models suffer less, and nothing else does\nwhat they do.",
)


def at(page: int, text: str) -> Anchor:
    start = PAGES[page - 1].index(text)
    return Anchor(page, start, start + len(text))


@pytest.mark.parametrize(
    ("passage", "page", "stands"),
    [
        ("accuracy falls from 90.1% to 55.4%", 1, "accuracy falls from 90.1% to 55.4%"),
        ("in every classifier", 1, "in every clas-\nsifier"),
        ('"Fine" models suffer  less', 2, "“ﬁne” models suffer less"),
        ("does what they do.", 2, "does\nwhat they do."),
    ],
)
def test_what_is_there_is_found_however_it_is_spelt(passage: str, page: int, stands: str) -> None:
    assert locate(passage, PAGES) == Found(at(page, stands), 1.0)


def test_what_is_nearly_there_is_found_with_a_score() -> None:
    found = locate("Accuracy of it falls from 90.1 to 55.4% when noise grows in every classifier", PAGES)
    assert found is not None
    assert 0.7 < found.score < 1
    assert found.anchor.page == 1
    assert "falls from 90.1% to 55.4%" in PAGES[0][found.anchor.start : found.anchor.end]


@pytest.mark.parametrize(
    "passage", ["", "  \n-", "whatever is written here stands in no paper at all", "zzz"]
)
def test_what_is_not_there_is_not_found(passage: str) -> None:
    assert locate(passage, PAGES) is None
    assert locate(passage, ()) is None


def test_a_passage_over_a_page_s_end_is_anchored_where_more_of_it_stands() -> None:
    found = locate("every classifier. The second page goes on: “fine” models", PAGES)
    assert found == Found(at(2, "The second page goes on: “ﬁne” models"), 1.0)


@given(st.text(min_size=1, max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_a_copied_passage_is_found_whatever_it_is_made_of(passage: str, before: str, after: str) -> None:
    page = before + passage + after
    found = locate(passage, (page,))
    if found is not None:
        assert found.score == 1.0
        assert 0 <= found.anchor.start < found.anchor.end <= len(page)
        assert locate(page[found.anchor.start : found.anchor.end], (page,)) == found
    else:
        assert all(c.isspace() or not c.isalnum() for c in passage)


def test_a_hostile_page_is_searched_in_time() -> None:
    page = "noise grows " * 100_000
    started = time.process_time()
    locate("noise grows " * 300 + "and grows no more " + "noise grows " * 300, (page,))
    locate("grows noise and " * 2_000, (page,))
    assert time.process_time() - started < 3
