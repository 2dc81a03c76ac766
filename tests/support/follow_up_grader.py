"""A scripted grading model for the follow-up task that ships: it answers by rules from what it is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from support.scripted_models import Reply, Request, answer

_ROW = re.compile(r"\| (\w+) \| (\d+) \| ([\d.]+) \| [\d.]+ \|")


def _rows(text: str) -> set[tuple[str, str, str]]:
    return set(_ROW.findall(text))


def _compared(text: str) -> str:
    wanted = {(weights, "15", noise) for weights in ("equal", "distance") for noise in ("0.0", "0.3", "0.6")}
    found = len(wanted & _rows(text))
    return "all six" if found == len(wanted) else "some" if found else "none"


def _yes(there: bool) -> str:
    return "yes" if there else "no"


# A part of each question → its answer from the files that are shown.
_RULES: dict[str, Callable[[str], str]] = {
    "hold a paper with a method": lambda text: _yes(
        all(f"## {h}" in text for h in ("Method", "Results", "Discussion"))
    ),
    "hold a program that makes": lambda text: _yes("rmse=" in text),
    "compare equal and distance weights": _compared,
    "compare k = 5, 15 and 45": lambda text: _yes(
        {("distance", k, "0.3") for k in ("5", "15", "45")} <= _rows(text)
    ),
    "say at which noise levels": lambda text: _yes("istance weights have the lower RMSE" in text),
}


LOOKS = ["grep -rn rmse= code", "wc -l paper/paper.md; touch /workspace/new; ls /workspace"]


def curious(request: Request) -> Reply:
    """The same, once it has had two commands run for each batch of questions."""
    if "may look further" not in request.prompt:
        return grading(request)
    return answer({"commands": LOOKS if re.search(r"LOOKS\n\(none\)", request.prompt) else []})


def grading(request: Request) -> Reply:
    """Answer each question by its rule; what has none is answered with yes."""
    questions = json.loads(re.findall(r"QUESTIONS\n(\[.*?\n\])", request.prompt, re.DOTALL)[-1])
    shown = request.prompt.partition(" PASSAGES\n")[2]
    grades = []
    for question in questions:
        rule = next((rule for part, rule in _RULES.items() if part in question["question"]), lambda _: "yes")
        grades.append({"id": question["id"], "answer": rule(shown), "rationale": "by rule", "evidence": []})
    return answer({"grades": grades})
