"""What an agent is told of a follow-up task: its specification, and how its work is handed in."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from string import Template

from firetrial_parser.kinds.follow_up import FollowUp

TEMPLATE = "follow-up-v1.txt"
_TITLES = {
    "held_fixed": "Held fixed",
    "design_space": "Open to you",
    "success_conditions": "Conditions of success",
    "deliverables": "What is to be handed in",
    "conduct": "Conduct",
    "compute": "Compute",
}


def briefed(own: str, told: FollowUp, questions: Iterable[tuple[str, str]]) -> str:
    """The instruction; `questions` are the rubrics', which are told only where they are to be shown."""
    template = Template((files("firetrial_parser") / "templates" / TEMPLATE).read_text(encoding="utf-8"))
    clauses = [
        f"{_TITLES[name]}:\n" + "".join(f"- [{c.id}] {c.text.strip()}\n" for c in listed)
        for name, listed in told.lists.items()
        if listed
    ]
    asked = "".join(f"- [{id_}] {' '.join(question.split())}\n" for id_, question in questions)
    return template.substitute(
        paper_title=told.paper_title,
        direction=told.direction.strip(),
        background=told.background.strip(),
        clauses="".join(f"{text}\n" for text in clauses),
        rubrics=f"The questions that your work is graded by:\n{asked}\n" if told.rubrics_shown else "",
        own=f"\n{own.strip()}\n" if own.strip() else "",
    )
