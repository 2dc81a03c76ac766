"""Cleaning, blocks and sentences: nothing moves, nothing is cut in the wrong place."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.text import MAX_CHARS, Form, blocks, clean, sentences, uncited, units


def split(text: str) -> list[str]:
    return [text[s.start : s.end] for s in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rose by 3.5 points. It fell.", ["It rose by 3.5 points.", "It fell."]),
        ("Some, e.g. GPT-4, fail. Others do not.", ["Some, e.g. GPT-4, fail.", "Others do not."]),
        ("See Fig. 3 for k. All rise.", ["See Fig. 3 for k.", "All rise."]),
        ("Smith et al. found it. We agree.", ["Smith et al. found it.", "We agree."]),
        ("It holds for cats, etc. The rest fails.", ["It holds for cats, etc.", "The rest fails."]),
        ("Is it? Yes! It is.", ["Is it?", "Yes!", "It is."]),
        ("It falls (by 4 pts. at most). It rises.", ["It falls (by 4 pts. at most).", "It rises."]),
        ("It loses 20.9 points. k = 45 loses none.", ["It loses 20.9 points.", "k = 45 loses none."]),
        ("J. Doe ran it. It works.", ["J. Doe ran it.", "It works."]),
        (
            "Results - Early is best. - Late is worst - Middle (a - b) is between",
            ["Results", "Early is best.", "Late is worst", "Middle (a - b) is between"],
        ),
        ("One dash - only one", ["One dash - only one"]),
    ],
)  # fmt: skip
def test_sentences(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_blocks_of_markdown() -> None:
    text = (
        "# Results\n\nAccuracy falls as the share of wrong labels in the training set\nincreases.\n"
        "- first item\n  goes on\n2. second item\n\n**Bold title**\n| k | acc |\n|---|---|\n| 1 | 0.6 |\n"
        "```\nignored = 1\n```\nFiles:\nend"
    )
    found = [(b.form, " ".join(text[b.start : b.end].split())) for b in blocks(text)]
    assert found == [
        (Form.HEADING, "Results"),
        (Form.PROSE, "Accuracy falls as the share of wrong labels in the training set increases."),
        (Form.ITEM, "first item goes on"),
        (Form.ITEM, "second item"),
        (Form.HEADING, "**Bold title**"),
        (Form.ROW, "| k | acc |"),
        (Form.ROW, "| 1 | 0.6 |"),
        (Form.HEADING, "Files:"),
        (Form.PROSE, "end"),
    ]


@given(st.text(max_size=400))
def test_cleaning_moves_nothing_and_leaves_nothing_harmful(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    assert all(new in {old, " ", "\n"} for old, new in zip(text, cleaned, strict=True))
    assert not any(c in cleaned for c in "\x00\x1b\r\u202e\u200b\ufeff")
    cleaned.encode()


def test_a_text_of_any_length_is_cut() -> None:
    assert len(clean("x" * (MAX_CHARS + 5))) == MAX_CHARS


@given(st.text(alphabet="ab .!?-*|#()\n:;1,", max_size=300))
def test_units_lie_in_order_inside_the_text(text: str) -> None:
    spans = units(clean(text))
    assert all(0 <= s.start < s.end <= len(text) for s in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


def test_references_are_left_out() -> None:
    assert uncited("It falls (Table 1) by 4 [12, 13] points (see Figure 2a).") == "It falls by 4 points."
    assert uncited("It falls (by 4).") == "It falls (by 4)."
