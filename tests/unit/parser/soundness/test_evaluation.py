"""The evaluation over a labelled set: groups, controls, filters, what could not be read, and bad lines."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from firetrial_kit.asking import MalformedAnswer, UpstreamUnavailable, Usage
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.asking import Bill
from firetrial_parser.soundness.assessment import Bucket, Mode, Opinion
from firetrial_parser.soundness.evaluation import Item, Wanted, evaluate, read_set
from firetrial_parser.soundness.offline import OfflineAssessor
from firetrial_parser.soundness.proposal import Proposal
from unit.parser.soundness.proposals import SOUND, WEAK


class ByData:
    """Approves what is measured on SST-2; cannot be read on what says so, and is away where that is said."""

    name = "by data"
    quality = "none"

    async def opinion(self, proposal: Proposal, mode: Mode, bill: Bill) -> Opinion:
        if "garbled" in proposal.shown:
            raise MalformedAnswer(Reason.CORRUPT, "prose", Usage())
        if "away" in proposal.shown:
            raise UpstreamUnavailable(Reason.UNAVAILABLE, "away", Usage())
        return Opinion("…", Bucket.HIGH if "SST-2" in proposal.shown else Bucket.LOW, 3)


def numbered(plan: Proposal, n: int) -> Proposal:
    return replace(plan, abstract=f"{plan.abstract} Study {n}.")


ITEMS = [
    *(Item(f"h{i}", numbered(SOUND, i), 3 + i / 10, 2025 if i % 2 else 2026, "nlp", 0.9) for i in range(6)),
    *(Item(f"l{i}", numbered(WEAK, i), 2 - i / 10, 2025 if i % 2 else 2026, "nlp", 1.0) for i in range(4)),
    Item("boast", numbered(SOUND, 99), 1.5, 2025, "vision", 0.2),
    Item("between", SOUND, 2.5, 2025, "nlp", 1.0),
    Item("unread", replace(WEAK, abstract="garbled"), 1.0, 2026, "", None),
]


async def test_the_report_counts_all_and_breaks_down_by_group() -> None:
    report = await evaluate(ITEMS, ByData(), Wanted(Mode.STANDARD), Bill())
    assert [report[n] for n in ("proposals", "excluded", "low", "high", "unparsed")] == [13, 1, 6, 6, 1]
    assert report["overall"]["counts"] == {
        "low_called_low": 4,
        "low_called_high": 1,
        "high_called_high": 6,
        "high_called_low": 0,
        "low_unparsed": 1,
        "high_unparsed": 0,
    }
    assert report["overall"]["fpr"]["value"] == pytest.approx(0.2)
    assert report["by_year"]["2026"]["counts"]["low_unparsed"] == 1
    assert list(report["by_subfield"]) == ["nlp"]  # vision has no high one
    assert report["baselines"]["always_low"]["low_recall"]["value"] == 1
    assert report["baselines"]["mean_experiments"]["threshold"] == pytest.approx((2 + 7 / 6) / 2)
    assert "controls" not in report


async def test_controls_mask_names_and_inject_flaws() -> None:
    report = await evaluate(ITEMS, ByData(), Wanted(Mode.STANDARD, controls=True), Bill())
    controls = report["controls"]
    assert controls["identifiers_masked"] == report["overall"]
    flaws = controls["flaws_injected"]
    assert (flaws["pairs"], flaws["unparsed"]) == (11, 1)
    assert flaws["approval_before"]["value"] == pytest.approx(7 / 11)
    assert flaws["approval_after"]["value"] == 0


async def test_the_support_filter_leaves_out_what_is_not_borne_out() -> None:
    report = await evaluate(ITEMS, ByData(), Wanted(Mode.STANDARD, min_support=0.5), Bill())
    assert report["without_support"] == 2
    assert report["overall"]["fpr"]["value"] == 0


async def test_an_assessor_that_is_away_is_no_verdict() -> None:
    items = [*ITEMS, Item("x", replace(WEAK, abstract="away"), 1.0)]
    with pytest.raises(UpstreamUnavailable):
        await evaluate(items, ByData(), Wanted(Mode.STANDARD), Bill())


async def test_a_set_without_labels_is_refused() -> None:
    with pytest.raises(FiretrialError, match="at least 3, or at most 2"):
        await evaluate([Item("a", SOUND, 2.5)], OfflineAssessor(), Wanted(Mode.STANDARD), Bill())


def line(**changes: Any) -> str:
    told = {"id": "a", "proposal": SOUND.to_json(), "score": 3.0, "year": 2026, "subfield": "nlp"} | changes
    return json.dumps(told)


def test_a_set_is_read_from_lines() -> None:
    (first, second) = read_set(f"{line()}\n\n{line(id='b', support_ratio=0.5)}\n")
    assert first == Item("a", SOUND, 3.0, 2026, "nlp")
    assert second.support_ratio == 0.5


def test_bad_lines_are_told_all_at_once() -> None:
    bad = [
        "nonsense",
        "[]",
        line(score="3", year="new", extra=1),
        line(proposal={"hypothesis": ""}),
        line(),
        line(),
        line(id="c", score=True, support_ratio=2),
    ]
    with pytest.raises(FiretrialError) as caught:
        read_set("\n".join(bad))
    assert {fault.field for fault in caught.value.faults} == {
        "line 1", "line 2", "line 3.score", "line 3.year", "line 3.extra", "line 4.hypothesis",
        "line 4.experiments", "id", "line 7.score", "line 7.support_ratio",
    }  # fmt: skip
