"""Attributions as people and programs call for them."""

from __future__ import annotations

from typing import Any

from unit.client.cli.conftest import Call


def test_each_claim_stands_with_what_settles_it_and_where(firetrial: Call, answer: Any) -> None:
    shown = firetrial("attributions", "show", "r-1").output
    assert "EXECUTION: LAZINESS" in shown
    assert "(nothing settles it)" in shown
    assert "there is no step 99" in shown
    assert "cost     unknown" in shown, "an unknown cost is not 0"
    assert "\x1b" not in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("t1")]
    assert line.split()[:5] == ["t1", "EXECUTION:", "LAZINESS", "signals", "12"]
    told = answer("attributions", "show", "r-1")
    assert told["missed"][0]["citations"] == [{"step": 12, "quote": "n=5"}]


def test_a_person_confirms_or_corrects_and_the_later_answers_show_it(firetrial: Call, answer: Any) -> None:
    confirmed = answer("attributions", "review", "r-1", "t1", "--confirm", "--reviewer", "ada")
    assert [(one["reviewer"], one["confirmed"]) for one in confirmed["reviews"]] == [("ada", True)]
    said = firetrial(
        "attributions", "review", "r-1", "a1", "--type", "alternative", "--note", "see 4", "--reviewer", "bob"
    ).output
    assert said.splitlines()[-1].split() == ["a1", "bob", "corrected", "ALTERNATIVE", "see", "4"]
    assert "CLAIM  REVIEWER" in firetrial("attributions", "show", "r-1").output


def test_a_word_is_one_of_the_two(firetrial: Call) -> None:
    firetrial("attributions", "review", "r-1", "t1", code=2)
    firetrial("attributions", "review", "r-1", "t1", "--confirm", "--type", "OTHER", code=2)


def test_agreement_is_a_table_and_what_is_undefined_stays_empty(firetrial: Call, answer: Any) -> None:
    shown = firetrial("attributions", "agreement").output.splitlines()
    assert shown[1].split() == ["missed", "4", "3", "75.0%", "(30.0", "to", "95.0)", "0.50"]
    assert shown[2].split() == ["false", "0", "0"]
    assert shown[-1].split() == ["missed", "(nothing)", "TIMEOUT", "1"]
    assert len(firetrial("attributions", "agreement", "e-1").output.splitlines()) == 3
    told = answer("attributions", "agreement")
    assert told["missed"]["kappa"] == 0.5
    assert "kappa" not in told["false_claims"]
