"""What a model answers about the study of `unit.parser.study`: its questions, and then its experiments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from firetrial_kit.asking import Endpoint
from firetrial_kit.cache import Cache
from firetrial_parser.asking import Asker, opened
from support.scripted_models import Reply, Request, ScriptedModels, answer

NODE: dict[str, Any] = {"description": "", "quotes": []}
LEAF: dict[str, Any] = {
    "evidence": "", "task": "", "datasets": [], "models": [], "metrics": [], "protocol": "", "conclusion": "",
    "uncertain": False,
}  # fmt: skip
RISE = "Hardness increases from 410 at 10 minutes to 655 at 40 minutes"


def question(id_: str, parent: str = "", **more: object) -> dict[str, Any]:
    """A node of the outline; the root where it has no parent."""
    kind = "intermediate" if parent else "root"
    return {**NODE, "id": id_, "parent": parent, "kind": kind, "title": id_.title(), **more}


def leaf(id_: str, parent: str = "hardness", **more: object) -> dict[str, Any]:
    """A leaf of a part."""
    return {**NODE, **LEAF, "id": id_, "parent": parent, "kind": "leaf", "title": id_.title(), **more}


def branch(id_: str, parent: str = "hardness", **more: object) -> dict[str, Any]:
    """An intermediate node of a part."""
    return {**leaf(id_, parent, **more), "kind": "intermediate"}


def outline(*questions: Mapping[str, Any], **facts: object) -> dict[str, Any]:
    """An answer on what the paper asks."""
    return {"title": "", "authors": [], "venue": "", "year": 0, **facts, "nodes": list(questions)}


QUESTIONS = outline(
    question("root", title="How does heating change steel?"),
    question("hardness", "root", title="How does the heating time change the hardness of steel samples?"),
)
RISES = leaf(
    "table",
    evidence="table 1",
    task="Heat samples for one of four times and measure their hardness.",
    datasets=["24 samples of one steel"],
    metrics=["Vickers hardness"],
    protocol="Each sample is heated and cooled in oil.",
    conclusion="Hardness rises from 410 to 655.",
    quotes=[RISE],
)
SPREAD = leaf("figure", evidence="Fig. 1", uncertain=True)
EXPERIMENTS = {"nodes": [RISES, SPREAD]}
_AXIS = {"level": 1, "reason": "One thing is varied."}
ANSWERS = {
    "tree-outline": QUESTIONS,
    "tree-part": EXPERIMENTS,
    "question": {"question": "What does time in a furnace do to steel?"},
    "difficulty": dict.fromkeys(
        ("conceptual_decomposition", "confound_control", "analysis_complexity"), _AXIS
    ),
}
"""By the purpose of what a parser asks, all that makes a task of the study."""
INVENTED = {
    "nodes": [leaf("table", evidence="Table 9", conclusion="It reaches 9999.", quotes=["No such words."])]
}


@dataclass
class Model:
    """A scripted model: replies to the outline's prompt and, by a word of its text, to that of a part."""

    outline: Reply = field(default_factory=lambda: answer(QUESTIONS))
    parts: Mapping[str, Reply] = field(default_factory=lambda: {"": answer(EXPERIMENTS)})
    repairs: Sequence[Reply] = ()
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        if "QUESTIONS lists" not in request.prompt:
            self.asked.append("outline")
            return self.outline
        word = next(word for word in self.parts if word in request.body["messages"][1]["content"])
        self.asked.append(f"part {word}".strip())
        again = sum(message["role"] == "assistant" for message in request.body["messages"])
        return self.repairs[min(again, len(self.repairs)) - 1] if again and self.repairs else self.parts[word]


@asynccontextmanager
async def asking(
    model: Callable[[Request], Reply], cache: Cache | None = None, **more: Any
) -> AsyncIterator[tuple[Asker, ScriptedModels]]:
    """Whoever asks a scripted model, and its server."""
    with ScriptedModels(model) as server:
        endpoint = Endpoint(server.base_url, "scripted", **{"patience": 2.0, "repairs": 1, **more})
        async with opened(endpoint, cache=cache) as asker:
            yield asker, server
