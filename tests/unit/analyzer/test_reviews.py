"""What may be said of an attribution, and how agreement is computed from it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.attribution import RUN, Attribution, FalsePositive, Missed
from firetrial_analyzer.reviews import Review, agreement, word
from firetrial_analyzer.taxonomy.catalogue import FalsePositiveKind, load
from firetrial_kit.errors import FiretrialError

AT = datetime(2026, 1, 1, tzinfo=UTC)
FOUND = Attribution(
    "r-1",
    (Missed("t1", "EXECUTION", "LAZINESS"), Missed("t2"), Missed(RUN, "SYSTEM", "TIMEOUT")),
    (FalsePositive("a1", FalsePositiveKind.UNRELATED, "", ""),),
)


def say(claim: str, type_: str = "", *, reviewer: str = "ada", note: str = "") -> Review:
    return word(FOUND, load(), claim, reviewer=reviewer, type_=type_, note=note, at=AT)


def test_a_word_confirms_or_corrects() -> None:
    assert say("t1") == Review("t1", "ada", True, "LAZINESS", "LAZINESS", "", AT)
    assert say("t1").confirmed
    corrected = say("a1", "ALTERNATIVE", reviewer=" ada ", note="see step 4")
    assert corrected == Review("a1", "ada", False, "UNRELATED", "ALTERNATIVE", "see step 4", AT)
    assert not corrected.confirmed
    assert say(RUN).type == "TIMEOUT"
    assert say("t1", "OTHER").key == say("t1").key != say("t1", reviewer="bob").key


@pytest.mark.parametrize(
    ("claim", "type_", "field", "cure"),
    [
        ("t9", "", "claim_id", "t1, t2, run, a1"),
        ("t1", "CONTRADICTORY", "type", "METHOD_DEVIATION, GOAL_DEVIATION"),
        ("a1", "LAZINESS", "type", "CONTRADICTORY, UNRELATED, OVERGENERALIZED, ALTERNATIVE"),
        ("t2", "", "type", "nothing is there to confirm"),
    ],
)
def test_a_wrong_word_is_refused_with_what_would_be_right(
    claim: str, type_: str, field: str, cure: str
) -> None:
    with pytest.raises(FiretrialError) as error:
        say(claim, type_)
    (fault,) = error.value.faults
    assert fault.field == field
    assert cure in fault.cure


def test_every_fault_of_a_word_is_told_at_once() -> None:
    with pytest.raises(FiretrialError) as error:
        say("t9", reviewer=" ", note="x" * 4001)
    assert [fault.field for fault in error.value.faults] == ["claim_id", "reviewer", "note"]


def reviews(*pairs: tuple[str, str, int]) -> list[Review]:
    return [
        Review(f"t{n}", "ada", True, attributed, said, "", AT)
        for attributed, said, count in pairs
        for n in range(count)
    ]


def test_agreement_against_a_textbook() -> None:
    # Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions (2003), table 18.1: kappa 0.676.
    found = agreement(
        reviews(
            ("P", "P", 75), ("P", "N", 1), ("P", "O", 4), ("N", "P", 5), ("N", "N", 4), ("N", "O", 1),
            ("O", "O", 10),
        )
    )  # fmt: skip
    assert (found.reviewed, found.confirmed, found.share) == (100, 89, 0.89)
    assert found.kappa == pytest.approx(0.676, abs=5e-4)
    assert found.interval
    assert (found.interval.low, found.interval.high) == pytest.approx((0.8137, 0.9375), abs=5e-4)
    assert found.confusion[0] == ("N", "N", 4)


def test_undefined_figures_are_none() -> None:
    nothing = agreement([])
    assert (nothing.reviewed, nothing.share, nothing.interval, nothing.kappa) == (0, None, None, None)
    alike = agreement(reviews(("P", "P", 5)))
    assert (alike.share, alike.kappa) == (1.0, None)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("ABC"), st.integers(1, 5)), max_size=9))
def test_kappa_is_at_most_one_and_one_for_full_agreement(pairs: list[tuple[str, str, int]]) -> None:
    found = agreement(reviews(*pairs))
    assert found.kappa is None or -1 <= found.kappa <= 1
    full = agreement(reviews(*((one, one, count) for one, _, count in pairs)))
    assert full.kappa is None or full.kappa == pytest.approx(1)
    assert sum(count for _, _, count in found.confusion) == found.reviewed
