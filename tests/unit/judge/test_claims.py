"""Claims out of conclusions: which, of which kind, from where; and hostile texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.claims import MAX_CLAIM_CHARS, MAX_CLAIMS, Kind, extract, kind_of
from firetrial_judge.reporting import is_finding, opens_findings

CONCLUSION = """\
All work is complete. I designed and ran an experiment on digits.

## Method
- Trained k-NN with k in {1, 15}, which increased the run time.

## Results
1. **Accuracy** falls from 98.5% to 59.0% at `k = 1` (Table 1), e.g. on digits.
2. Larger k is more robust than small k; k = 15 loses only 1.3 points.
- We find that noise does not affect the test labels.

| k | clean | 40% noise |
|---|-------|-----------|
| 1 | 98.5 | **59.0** |
| 15 | 97.2 | 96.0 |

## Files
- results.csv increases
- Scores saved to /workspace/out/scores.json

## Recommendations
Use a large k.
"""


def test_a_conclusion() -> None:
    extraction = extract(CONCLUSION)
    assert [(c.id, c.text, c.kind) for c in extraction.claims] == [
        ("c1", "Accuracy falls from 98.5% to 59.0% at k = 1, e.g. on digits.", Kind.QUANTITATIVE),
        ("c2", "Larger k is more robust than small k", Kind.COMPARATIVE),
        ("c3", "k = 15 loses only 1.3 points.", Kind.QUANTITATIVE),
        ("c4", "We find that noise does not affect the test labels.", Kind.DIRECTIONAL),
        ("c5", "k 1: clean 98.5, 40% noise 59.0", Kind.QUANTITATIVE),
        ("c6", "k 15: clean 97.2, 40% noise 96.0", Kind.QUANTITATIVE),
    ]
    assert extraction.notes == ()
    second = extraction.claims[1]
    assert CONCLUSION[second.start : second.end].startswith("Larger k is more robust than small k; k = 15")


@pytest.mark.parametrize(
    "clause",
    [
        "All experiments are complete.",
        "The task is finished.",
        "No further action is required.",
        "I ran 200 prompts per position.",
        "We evaluate ten models on 30 documents.",
        "Queried gpt-3.5-turbo for JSON outputs.",
        "Script: /workspace/run.py",
        "See results.csv for the improved numbers.",
        "Always use the largest model.",
        "Nearest neighbours should never be used on noisy data.",
        "We will extend this to larger models.",
        "Does accuracy increase with scale?",
        "Key numbers for all models:",
        "Clear primacy",
    ],
)
def test_what_is_no_finding(clause: str) -> None:
    assert not is_finding(clause)


@pytest.mark.parametrize(
    "clause",
    [
        "Middle positions perform worst",
        "EM = 0.534",
        "Differences were small.",
        "We compared both and found that noise hurts.",
        "LLMs learn linear representations of space and time across multiple scales.",
        "Results in out.csv show that accuracy improves with k.",
    ],
)
def test_what_is_a_finding(clause: str) -> None:
    assert is_finding(clause)


@pytest.mark.parametrize(
    ("title", "opens"),
    [
        ("## Key results", True),
        ("Main findings (n = 200)", True),
        ("**Reproducibility**", False),
        ("Summary of experimental design", False),
        ("Limitations and notes", False),
        ("The effect of noise", None),
    ],
)
def test_titles(title: str, opens: bool | None) -> None:
    assert opens_findings(title) is opens


@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        ("GPT-4 is better than GPT-3.5", Kind.COMPARATIVE),
        ("Accuracy drops by 3 points", Kind.QUANTITATIVE),
        ("Half of the models fail", Kind.QUANTITATIVE),
        ("Noise hurts", Kind.DIRECTIONAL),
        ("LLMs encode space and time", Kind.OTHER),
    ],
)
def test_kinds(claim: str, kind: Kind) -> None:
    assert kind_of(claim) is kind


def test_repeated_claims_count_once_and_too_many_are_cut_and_told() -> None:
    assert len(extract("Accuracy falls with noise.\n" * 50).claims) == 1
    many = extract("\n".join(f"Model {i} improves accuracy by {i}%." for i in range(5000)))
    assert len(many.claims) == MAX_CLAIMS
    assert many.notes == (f"claims cut at {MAX_CLAIMS} of 5000",)


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\x00" * 1000, "a" * 2_000_000, "(" * 100_000, "| a | 1 |\n" * 20_000, "\ud800 \u202e"],
    ids=["empty", "blank", "nul", "long line", "brackets", "table", "surrogates"],
)  # fmt: skip
def test_hostile_texts_end_quickly(text: str) -> None:
    for claim in extract(text).claims:
        assert 0 < len(claim.text) <= MAX_CLAIM_CHARS


def test_a_claim_of_any_length_is_cut() -> None:
    (claim,) = extract("Accuracy falls " + "because of noise " * 500).claims
    assert len(claim.text) <= MAX_CLAIM_CHARS
    assert (claim.start, claim.end > MAX_CLAIM_CHARS) == (0, True)


@given(st.text(max_size=300))
def test_the_same_text_gives_the_same_claims_inside_it(text: str) -> None:
    extraction = extract(text)
    assert extraction == extract(text)
    assert [c.id for c in extraction.claims] == [f"c{n}" for n in range(1, len(extraction.claims) + 1)]
    assert all(0 <= c.start < c.end <= len(text) for c in extraction.claims)


@pytest.mark.needs("shared")
def test_the_claims_that_people_took_from_real_conclusions_are_found(shared: Path) -> None:
    examples = json.loads((shared / "firebench/worked_examples.json").read_text())["examples"]
    taken = " ".join(c.text for e in examples for c in extract(e["conclusion"]).claims)
    for finding in (
        "placing the gold document early boosts accuracy",
        "Middle positions perform worst",
        "the last position shows a mild rebound",
        "GPT-3.5 did not disproportionately predict higher medical costs",
        "Two-round self-correction yields modest gains for multi-hop QA without retrieval",
    ):
        assert finding in taken
    for noise in ("/workspace", "All work is complete", "temperature=0.0", "No further action", "Redacted"):
        assert noise not in taken


@pytest.mark.needs("shared")
def test_every_ground_truth_of_the_benchmark_holds_claims(shared: Path) -> None:
    tasks = json.loads((shared / "firebench/tasks.json").read_text())["tasks"]
    counts = {t["id"]: len(extract(t["ground_truth"]["feb_2026_96fd394"]).claims) for t in tasks}
    assert all(1 <= count <= 8 for count in counts.values()), counts


def test_bullets_keep_the_names_over_them() -> None:
    found = extract(
        "## Results\n"
        "- gpt-3.5-turbo\n"
        "  - GSM8K: 0.83 after two rounds\n"
        "  - HotpotQA: 0.20 after two rounds\n"
        "- gpt-4o:\n"
        "  - GSM8K: accuracy rises to 0.97\n"
        "- Accuracy falls with noise.\n"
    )
    assert [claim.text for claim in found.claims] == [
        "gpt-3.5-turbo: GSM8K: 0.83 after two rounds",
        "gpt-3.5-turbo: HotpotQA: 0.20 after two rounds",
        "gpt-4o: GSM8K: accuracy rises to 0.97",
        "Accuracy falls with noise.",
    ]


def test_rows_keep_the_name_over_their_table() -> None:
    table = "| noise | accuracy |\n| --- | --- |\n| 0% | 98.5 |\n"
    found = extract(f"### Digits, k = 1\n\n{table}\n### Other\n\nRecall rises with depth.")
    texts = [claim.text for claim in found.claims]
    assert texts == ["Digits, k = 1: noise 0%: accuracy 98.5", "Recall rises with depth."]


def test_headings_that_name_nothing_are_left_out() -> None:
    found = extract("**Key numbers:**\n- Early positions: EM = 0.534\n- Late positions: EM = 0.451")
    texts = [claim.text for claim in found.claims]
    assert texts == ["Early positions: EM = 0.534", "Late positions: EM = 0.451"]
