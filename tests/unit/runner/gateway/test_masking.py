"""Keys are found however a stream is cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.gateway.masking import Masker, Stream

KEYS = ("sk-abcabcabd", "sk-abcabxyz", "tokentok")
PART = st.one_of(
    st.sampled_from([key.encode() for key in KEYS]), st.binary(max_size=6), st.sampled_from([b"sk-abc"])
)


@given(parts=st.lists(PART, max_size=12), cuts=st.lists(st.integers(0, 100), max_size=8))
def test_a_stream_is_masked_as_a_whole_would_be(parts: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(parts)
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    stream, masker = Stream(Masker(KEYS)), Masker(KEYS)
    passed = b"".join(stream.feed(whole[a:b]) for a, b in pairwise(places)) + stream.end()
    assert passed == masker.mask(whole)
    assert all(key.encode() not in passed for key in KEYS)


def test_nothing_waits_that_is_no_beginning_of_a_key() -> None:
    stream = Stream(Masker(KEYS))
    assert stream.feed(b"data: hello\n\n") == b"data: hello\n\n"
    assert stream.feed(b"ends in sk-ab") == b"ends in "
    assert stream.feed(b"surd") == b"sk-absurd"


def test_short_words_are_no_keys() -> None:
    masker = Masker(["none", "", "long-enough-1"])
    assert masker.mask_text("none of long-enough-1 \ud800") == "none of [masked] \ud800"
    assert Masker().mask(b"anything") == b"anything"
