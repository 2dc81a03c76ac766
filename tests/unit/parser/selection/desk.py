"""A parser at whose desk batches are handed in, with a scripted model where a test wants one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from firetrial.parser.v1 import screening_pb2 as pb
from firetrial_kit.asking import Price
from firetrial_kit.cache import StoreTier
from firetrial_kit.models import Endpoint
from firetrial_parser.asking import KEPT, Asker, opened
from support.scripted_models import Reply, Request, ScriptedModels, answer
from unit.parser.world import World

PRICE = Price(prompt=2.0, completion=10.0, cached=1.0)
A_CALL = (80 * 2.0 + 20 * 1.0 + 10 * 10.0) / 1e6  # what the scripted model says each time that it used
JSONL, CSV = pb.SCREENING_FORMAT_JSONL, pb.SCREENING_FORMAT_CSV

Answer = Callable[[str, str], Reply]


def item(id_: str, **fields: str) -> dict[str, str]:
    """An empirical study that keywords let on."""
    return {
        "id": id_,
        "title": f"Do language models count? Study {id_}",
        "abstract": f"We measure how well open models count in setting {id_}. Accuracy falls above seven.",
        **fields,
    }


class Desk(World):
    """A world with the screening's RPCs at hand."""

    async def hand_in(self, items: Iterable[Mapping[str, str] | str], **header: Any) -> pb.Screening:
        """Submit items as lines of JSON."""
        lines = [one if isinstance(one, str) else json.dumps(one) for one in items]
        return await self.hand_in_bytes("\n".join(lines).encode(), **header)

    async def hand_in_bytes(self, data: bytes, **header: Any) -> pb.Screening:
        told = pb.ScreeningHeader(**{"format": JSONL, "size": len(data), **header})

        async def parts() -> AsyncIterator[pb.SubmitScreeningRequest]:
            yield pb.SubmitScreeningRequest(header=told)
            for start in range(0, len(data), 1000):
                yield pb.SubmitScreeningRequest(chunk=data[start : start + 1000])

        return (await self.servicer.SubmitScreening(parts(), None)).screening

    async def work(self) -> list[str]:
        """Screen what is due; how each message was settled."""
        return await self.bus.deliver(self.screening)

    async def batch(self, id_: str) -> pb.Screening:
        return (await self.servicer.GetScreening(pb.GetScreeningRequest(id=id_), None)).screening

    async def results(self, id_: str, *outcomes: pb.ScreeningOutcome.ValueType, size: int = 7) -> list[Any]:
        """All results, page by page."""
        request = pb.ListScreenedPapersRequest(screening_id=id_, outcomes=outcomes, page_size=size)
        found: list[Any] = []
        while True:
            page = await self.servicer.ListScreenedPapers(request, None)
            found += page.papers
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token


class Model:
    """A scripted model. `contribution` and `criteria` answer by the item's title and the whole prompt."""

    def __init__(self) -> None:
        self.contribution: Answer = lambda title, prompt: answer(kind("EMPIRICAL"))
        self.criteria: Answer = lambda title, prompt: answer(met("YES"))
        self.asked: list[tuple[str, str]] = []

    def reply(self, request: Request) -> Reply:
        title = request.prompt.partition("TITLE\n")[2].partition("\n")[0]
        which = "contribution" if "You sort research papers" in request.prompt else "criteria"
        self.asked.append((which, title))
        decide = self.contribution if which == "contribution" else self.criteria
        return decide(title, request.prompt)


@asynccontextmanager
async def asked_at(
    world: World, model: Model, price: Price | None = PRICE, patience: float = 0.3
) -> AsyncIterator[Asker]:
    """An asker of that model, which keeps what was answered where the world's parser does."""
    with ScriptedModels(model.reply) as server:
        endpoint = Endpoint(server.base_url, "m", patience=patience, repairs=1)
        async with opened(endpoint, cache=StoreTier(world.objects, *KEPT), price=price) as asker:
            yield asker


def kind(name: str, *, close: bool = False) -> dict[str, Any]:
    return {"kind": name, "reason": "It asks how well models count.", "close": close}


QUOTE = "Accuracy falls above seven."


def met(
    verdict: str, *, quote: str = QUOTE, criterion: str = "OPEN_INPUTS", others: str = "YES"
) -> dict[str, Any]:
    """A verdict on one criterion, and another on the others."""
    names = ["OPEN_INPUTS", "COMPUTE_LIGHT", "VERIFIABLE_FINDINGS"]
    return {
        "criteria": [
            {
                "criterion": name,
                "met": verdict if name == criterion else others,
                "reasons": [
                    {"text": "The abstract says so.", "quote": quote if name == criterion else QUOTE}
                ],
            }
            for name in names
        ]
    }
