"""The leak check over the judge's real RPC: planted leaks, and public parts that leak nothing.

The texts are the project's own. What is missed is named, so that a change for the better or worse is seen.
The short form takes every third of them; FIRETRIAL_BENCH=full takes all.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from firetrial_judge.offline import load
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.neighbours import channel_to
from firetrial_parser.judge_rpc import JudgeByAddress
from firetrial_parser.leaks.checking import Depth, LeakChecker
from firetrial_parser.leaks.leak import Secrets
from support import servers
from support.judging import judge_service

PLANTED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "unit/parser/leaks/planted.json").read_text()
)
EVERY = 1 if os.environ.get("FIRETRIAL_BENCH") == "full" else 3
# Synonyms that neither the words nor the offline judge know.
MISSED = {
    "You will see that models answer best if the answer's document comes first or last in the context.",
    "Note that larger models are no less sensitive to the format than small ones.",
    "Telling the model to avoid bias hardly helps.",
}


@pytest.fixture
async def judge() -> AsyncIterator[JudgeByAddress]:
    async with judge_service(load()) as found:
        yield found


async def test_planted_leaks_are_caught_and_clean_parts_pass(judge: JudgeByAddress) -> None:
    checker = LeakChecker(judge)
    planted = [(topic, text) for topic in PLANTED for _, text in topic["planted"]]
    clean = [(topic, text) for topic in PLANTED for text in topic["clean"]]
    assert (len(planted), len(clean)) == (32, 30)
    planted, clean = planted[::EVERY], clean[::EVERY]

    async def leaks(topic: dict[str, Any], public: str) -> bool:
        findings = topic["findings"]
        check = await checker.check(public, Secrets.of_findings(findings), findings)
        assert check.depth is Depth.ENTAILMENT
        return bool(check.leaks)

    hidden = [
        (topic, text, "\n\n".join([topic["clean"][0], text, topic["clean"][1]])) for topic, text in planted
    ]
    missed = {text for topic, text, public in hidden if not await leaks(topic, public)}
    assert missed == MISSED & {text for _, text in planted}
    assert [text for topic, text in clean if await leaks(topic, text)] == []


async def test_a_judge_that_is_gone_can_be_asked_later() -> None:
    async with AsyncExitStack() as stack:
        address = f"127.0.0.1:{servers.free_port()}"
        gone = JudgeByAddress(address, await channel_to(address, stack))
        with pytest.raises(FiretrialError) as raised:
            await gone.entail("It falls.", ["It falls."])
    assert raised.value.reason is Reason.UNAVAILABLE


async def test_a_refusal_is_the_askers_to_mend(judge: JudgeByAddress) -> None:
    with pytest.raises(FiretrialError, match="premise") as raised:
        await judge.entail(" ", ["It falls."])
    assert raised.value.reason is Reason.PRECONDITION
