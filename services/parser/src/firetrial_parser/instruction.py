"""What an agent is told, from a versioned template."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from string import Template

TEMPLATE = "instruction-v2.txt"
REPLICATION = "replication-v1.txt"
CALLS = 1000  # to each model, where the scope says nothing else
_BUDGETS = ("budget:", "constraints:")


def instruct(question: str, scope: Sequence[str], *, method: Sequence[str] = ()) -> str:
    """The instruction; with a method it asks for a replication."""
    name = REPLICATION if method else TEMPLATE
    template = Template((files("firetrial_parser") / "templates" / name).read_text(encoding="utf-8"))
    listed = "".join(f"- {line}\n" for line in scope)
    return template.substitute(
        question=question,
        scope=f"Scope:\n{listed}" if listed else "",
        budget="" if any(line.lower().startswith(_BUDGETS) for line in scope) else _budget(),
        method="".join(f"- {sentence}\n" for sentence in method).rstrip(),
    )


def public_part(question: str, instruction: str) -> str:
    """All that an agent reads: the instruction, and the question where that is not in it."""
    return instruction if question in instruction else f"{question}\n\n{instruction}"


def _budget() -> str:
    return f"- Make at most {CALLS:,} calls to each model, retries included.\n"
