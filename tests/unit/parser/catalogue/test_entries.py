"""The catalogue: whole, in words of its own, and without a leak."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from google.protobuf.json_format import ParseDict

from firetrial.parser.v1.parser_service_pb2 import TaskHeader
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.catalogue.entries import Entry, named, read_catalogue
from firetrial_parser.leaks.leak import Secrets
from firetrial_parser.prose import phrases
from firetrial_parser.rating import AXES, published_on_arxiv
from firetrial_parser.submitting import task_faults

PHRASE = 8
ENTRIES = read_catalogue()
each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def test_all_thirty_are_there_once() -> None:
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names) == 30
    assert names == sorted(names)
    assert Counter(entry.level for entry in ENTRIES) == {"easy": 7, "medium": 12, "hard": 11}


@each
def test_a_task_is_what_the_service_takes(entry: Entry) -> None:
    header = ParseDict(entry.submission(), TaskHeader())
    assert list(task_faults(header)) == []
    assert entry.published == published_on_arxiv(entry.arxiv)
    assert entry.question.endswith("?")
    assert all(finding.endswith(".") for finding in entry.findings)
    assert f"arxiv.org/abs/{entry.arxiv}" in header.network.denied


@each
def test_its_public_part_gives_nothing_away_by_words(entry: Entry) -> None:
    public = entry.submission()["instruction"]
    assert Secrets.of_findings(entry.findings).leaks(public) == []
    assert entry.title.lower() not in public.lower()
    assert entry.arxiv not in public


def test_the_truth_is_shown_only_where_it_is_asked_for() -> None:
    entry = ENTRIES[0]
    assert "findings" not in entry.to_json(with_truth=False)
    assert entry.findings[0] not in json.dumps(entry.to_json(with_truth=False))
    assert entry.to_json(with_truth=True)["findings"] == list(entry.findings)


def test_sides_go_by_month() -> None:
    (entry,) = named(("lost-in-the-middle",))
    assert entry.sides == {"o4-mini": "before", "gpt-5": "before"}
    (entry,) = named(("to_cot_or_not_to_cot",))  # of the month in which the second cutoff lies
    assert entry.sides == {"o4-mini": "after", "gpt-5": "after"}


def test_what_is_not_there_is_told_at_once() -> None:
    with pytest.raises(FiretrialError, match=r"'one'.*'two'") as raised:
        named(("one", "lost_in_the_middle", "two"))
    assert raised.value.reason is Reason.NOT_FOUND


@pytest.mark.needs("shared")
def test_the_facts_are_the_benchmarks(shared: Path) -> None:
    tasks = {t["id"]: t for t in json.loads((shared / "firebench" / "tasks.json").read_text())["tasks"]}
    tables = json.loads((shared / "firebench" / "tables.json").read_text())
    table = {row["id"]: row for row in tables["table7_14_papers"]["rows"]}
    assert {entry.name for entry in ENTRIES} == set(tasks)
    for entry in ENTRIES:
        paper, rated = tasks[entry.name]["paper"], table[entry.name]["difficulty"]
        facts = (entry.title, entry.venue, entry.year, entry.arxiv)
        assert facts == (paper["title"], paper["venue"], paper["year"], paper["arxiv"])
        assert [getattr(entry.difficulty, axis) for axis in AXES] == [rated[axis] for axis in "DCM"]
        assert entry.level == rated["category"].lower()


@pytest.mark.needs("shared")
def test_the_words_are_not(shared: Path) -> None:
    texts = [
        path
        for path in (shared / "firebench").rglob("*")
        if path.suffix in {".txt", ".py", ".json", ".md", ".jsonl"}
        and "data" not in path.parts
        and path.stat().st_size < 4_000_000
    ]
    assert len(texts) > 30
    taken = set().union(*(phrases(path.read_text(errors="replace"), PHRASE) for path in texts))
    copied = [
        text
        for entry in ENTRIES
        for text in (entry.question, *entry.scope, *entry.findings)
        if not text.startswith("Models:") and not taken.isdisjoint(phrases(text, PHRASE))
    ]
    assert copied == []
