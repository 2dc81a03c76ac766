"""Files with grades of one submission, by people and by a judge, as a comparison."""

from __future__ import annotations

from typing import Any

from firetrial_judge.rubric.agreement import Compared
from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.scoring import Scores
from firetrial_kit.documents import load
from firetrial_kit.errors import Fault, check

_MAX_FAULTS = 200


def compare(people: bytes, judge: bytes) -> Compared:
    """People's graded tree against the same tree graded by a judge, or against the answer of `rubric grade`.

    Raises INVALID with every fault: a judge may leave questions out, but not answer others.
    """
    reading = read(load(people, "the rubric"))
    document = load(judge, "the rubric")
    listed = isinstance(document, dict) and isinstance(document.get("leaves"), list)
    scores = _listed(document["leaves"]) if listed else read(document).scores
    known = {node.id for node in reading.rubric.nodes}
    strange = [Fault("JUDGE", id_, "must be a node of people's tree") for id_ in scores if id_ not in known]
    check("the judge's grades", strange[:_MAX_FAULTS])
    return Compared(reading.rubric, scores, reading.scores)


def _listed(leaves: list[Any]) -> Scores:
    """Each entry is read as a tree of one leaf, so that the same faults are told."""
    entries = [entry if isinstance(entry, dict) else {} for entry in leaves]
    asked = [{"id": entry.get("id"), "question": "?", "score": entry.get("score")} for entry in entries]
    return read({"id": "the judge's answer", "children": asked}).scores if asked else {}
