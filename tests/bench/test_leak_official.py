"""What the 30 official instructions give away of their ground truths, in each vintage of these.

The offline judge rules; the counts are pinned to the version of its rules. FIRETRIAL_BENCH=full takes all
three vintages and prints a line for each pair, the short form takes every tenth task of one.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from firetrial_judge.offline import VERSION, load
from firetrial_parser.firebench import read_firebench
from firetrial_parser.instruction import public_part
from firetrial_parser.leaks.checking import LeakCheck, LeakChecker
from firetrial_parser.leaks.leak import LeakKind, Secrets
from firetrial_parser.prose import sentences
from support.judging import judge_service

pytestmark = pytest.mark.needs("shared")

FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
RULES = "offline-2"
# Vintage → pairs, pairs with any leak, and pairs with a leak of a kind: docs/leak-check.md has the same.
EXPECTED: dict[str, tuple[int, int, dict[str, int]]] = {
    "jan": (11, 0, {}),
    "feb": (30, 3, {"FINDING_PHRASE": 3, "FINDING": 1}),
    "april": (30, 17, {"FINDING_PHRASE": 17, "FINDING": 1}),
}


async def checks(shared: Path) -> dict[tuple[str, str], LeakCheck]:
    """(vintage, task) → check."""
    listed = json.loads((shared / "firebench" / "tasks.json").read_text())["tasks"]
    truths = {task["id"]: task["ground_truth"] for task in listed}
    tasks = read_firebench(shared / "firebench" / "official")
    assert len(tasks) == 30
    found: dict[tuple[str, str], LeakCheck] = {}
    async with judge_service(load()) as judge:
        checker = LeakChecker(judge)
        for task in tasks if FULL else tasks[::10]:
            public = public_part(task.question, task.instruction)
            for vintage, truth in truths[task.name].items():
                month = vintage.partition("_")[0]
                if not isinstance(truth, str) or (month != "feb" and not FULL):
                    continue
                findings = sentences(truth)
                check = await checker.check(public, Secrets.of_findings(findings), findings)
                found[month, task.name] = check
                if month == "feb" and truths[task.name].get("january_same_as_february"):
                    found["jan", task.name] = check  # the eleven that January had, word for word
    return found


@pytest.mark.timeout(600)
async def test_the_official_instructions(shared: Path) -> None:
    found = await checks(shared)
    for (month, name), check in found.items():
        kinds = Counter(str(leak.kind) for leak in check.leaks)
        print(f"{month} {name}: {check.claims} claims, {dict(kinds) or 'no leak'}")
    for month in sorted({month for month, _ in found}):
        of_month = [check for (other, _), check in found.items() if other == month]
        kinds = Counter(str(kind) for check in of_month for kind in {leak.kind for leak in check.leaks})
        counted = (len(of_month), sum(bool(check.leaks) for check in of_month), dict(kinds))
        print(month, *counted)
        if FULL and VERSION == RULES:
            assert counted == EXPECTED[month]
    assert {leak.kind for check in found.values() for leak in check.leaks} <= {
        LeakKind.FINDING,
        LeakKind.FINDING_PHRASE,
    }
    assert all(check.claims for check in found.values())
