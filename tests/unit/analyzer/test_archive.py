"""What is kept of a run is what its latest judgement says, in whatever order judgements are told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.archive import Archive
from firetrial_kit.testing import InMemoryObjects
from unit.analyzer import sample


def judged(days: int | None, name: str) -> AnalysedRun:
    item = next(item for item in sample.runs() if item.judgement)
    assert item.judgement
    when = None if days is None else sample.START + timedelta(days=days)
    return replace(item, judgement_id=name, judgement=replace(item.judgement, judged_at=when))


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (judged(1, "j-a"), judged(2, "j-b"), "j-b"), (judged(2, "j-b"), judged(1, "j-a"), "j-b"),
        (judged(1, "j-b"), judged(1, "j-a"), "j-b"), (judged(None, "j-z"), judged(1, "j-a"), "j-a"),
        (judged(1, "j-a"), judged(None, "j-z"), "j-a"), (judged(1, "j-a"), judged(1, "j-a"), "j-a"),
    ],
)  # fmt: skip
async def test_the_latest_judgement_stays(first: AnalysedRun, second: AnalysedRun, kept: str) -> None:
    archive = Archive(InMemoryObjects())
    await archive.put_analysis(first)
    await archive.put_analysis(second)
    assert (await archive.analysis(first.run.run_id)).judgement_id == kept
