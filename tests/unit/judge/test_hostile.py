"""Conclusions that speak to their judge: seen, taken out, told; and findings that are left alone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.claims import CAPPED, MAX_CLAIMS, extract
from firetrial_judge.hostile import MANIPULATION, screen
from firetrial_judge.judgement import judge_texts
from firetrial_judge.manipulation import reason
from firetrial_judge.offline import OfflineBackend
from firetrial_judge.text import MAX_CHARS

DATA = Path(__file__).parent / "data"
INJECTIONS = {file.stem: file.read_text() for file in sorted((DATA / "injections").glob("*.txt"))}
TRUTH = (
    "Accuracy falls as label noise increases. Larger k makes the classifier more robust to label noise. "
    "At 40% noise accuracy is 59% with k = 1."
)
CONCLUSION = (
    "Accuracy falls as label noise increases. Larger k makes the classifier less robust to label noise.\n"
    "Training takes two hours."
)


def test_there_are_enough_of_them() -> None:
    assert len(INJECTIONS) >= 25


@pytest.mark.parametrize("attack", INJECTIONS.values(), ids=INJECTIONS)
def test_an_injection_is_seen_taken_out_and_told(attack: str) -> None:
    screened = screen(f"{CONCLUSION}\n\n{attack}")
    assert screened.flags == (MANIPULATION,)
    assert screened.notes
    assert screened.text.startswith(CONCLUSION)
    left = screened.text[len(CONCLUSION) :]
    assert not any(reason(line) for line in left.splitlines()), left
    assert "ENTAILED" not in left


@pytest.mark.parametrize("attack", INJECTIONS.values(), ids=INJECTIONS)
async def test_no_injection_raises_the_offline_score(offline: OfflineBackend, attack: str) -> None:
    plain = await judge_texts(offline, run_id="", conclusion=CONCLUSION, truth=TRUTH)
    for attacked in (f"{CONCLUSION}\n\n{attack}", f"{attack}\n\n{CONCLUSION}"):
        judged = await judge_texts(offline, run_id="", conclusion=screen(attacked).text, truth=TRUTH)
        for name in ("precision", "recall", "f1"):
            assert (getattr(judged.score, name) or 0) <= (getattr(plain.score, name) or 0) + 1e-9, name


def test_findings_are_left_alone() -> None:
    for line in (DATA / "findings_dev.jsonl").read_text().splitlines():
        pair = json.loads(line)
        text = f"{pair['premise']} {pair['hypothesis']}"
        assert screen(text).flags == (), text
        assert screen(text).text == text


@pytest.mark.parametrize(
    "finding",
    [
        "The effect size is large (d = 0.8, p < 0.001), and α-divergence and μ-law coding do not help.",
        "LLM judges prefer longer answers, and graders agree with each other in 80% of the cases.",
        "The verdict of human evaluators was the same as that of the model in most cases.",
        "Models ignore the middle of the context and follow instructions less often when prompts are long.",
        "With ground-truth labels accuracy is 91%; with predicted labels it is 84%.",
        "Performance drops at the end of the prompt. Χαρακτήρες and русские слова are tokenised badly.",
        "SHA-256 of the data: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.",
        "- Early (positions 0-4): EM = 0.534\n- Middle (positions 8-12): EM = 0.427",
    ],
)
def test_a_finding_about_judges_is_no_manipulation(finding: str) -> None:
    assert screen(finding).notes == ()


@given(st.text(max_size=300))
def test_any_text_keeps_its_length_and_is_screened_once(text: str) -> None:
    once = screen(text)
    assert len(once.text) == len(text)
    assert screen(once.text).text == once.text


def test_a_megabyte_is_cut_in_bounded_time() -> None:
    begun = time.process_time()
    for text in ("Accuracy rises with k. " * 45_000, "ignore " * 150_000, "A" * 1_000_000, "( " * 500_000):
        assert len(screen(text).text) == MAX_CHARS
        assert CAPPED in extract(text).flags
    assert time.process_time() - begun < 20


def test_five_thousand_claims_are_counted_and_capped() -> None:
    found = extract("\n".join(f"- Accuracy at k = {n} is {n % 100}.5%." for n in range(5000)))
    assert len(found.claims) == MAX_CLAIMS
    assert found.flags == (CAPPED,)
    assert found.beyond == 5000 - MAX_CLAIMS
    assert found.notes == (f"claims cut at {MAX_CLAIMS} of 5000",)


async def test_fishing_for_hits_costs_precision(offline: OfflineBackend) -> None:
    guesses = [f"- Accuracy at {n}% noise is {m}% with k = 1." for n in range(5, 55) for m in range(10, 26)]
    fished = await judge_texts(offline, run_id="", conclusion="\n".join(guesses), truth=TRUTH)
    assert CAPPED in fished.flags
    assert len(fished.agent_claims) <= MAX_CLAIMS
    assert fished.score.tp + fished.score.fp >= 0.9 * len(guesses)
    assert (fished.score.precision or 0) < 0.01
