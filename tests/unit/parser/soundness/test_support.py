"""Claims of a proposal against their source, by words, by a model and by the judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from firetrial_kit.models import Endpoint
from firetrial_parser.asking import Bill, opened
from firetrial_parser.entailment import Ruled as JudgeRuled
from firetrial_parser.entailment import Rulings, Verdict
from firetrial_parser.soundness.support import (
    ByJudge,
    ByModel,
    Claim,
    Lexical,
    Support,
    literal,
    own_source,
    supported,
)
from support import scripted_models as scripted
from support.scripted_models import ScriptedModels
from unit.parser.soundness.proposals import SOUND, WEAK

PAPER = """Order: how size protects. We ask how far the order of demonstrations matters, and whether size
protects against it. Experiments use SST-2 and AG News. A fixed order and zero-shot prompting serve as
baselines, with 5 seeds.
"""


async def test_a_submitted_proposal_bears_itself_out() -> None:
    found = await supported(SOUND, own_source(SOUND), None, Lexical(), Bill())
    assert found.ratio == 1.0
    assert found.method == "lexical"


async def test_a_paper_bears_out_what_it_says_and_nothing_else() -> None:
    claims = [
        Claim("The order of demonstrations matters.", "abstract"),
        Claim("Experiment 1 uses the data set AG News.", "experiments[0].datasets[0]"),
        Claim("Experiment 1 uses the data set MNLI.", "experiments[0].datasets[1]"),
        Claim("A fixed order serves as a baseline with 5 seeds.", "experiments[0].setup"),
        Claim("A fixed order serves as a baseline with 7 seeds.", "experiments[0].setup"),
        Claim("Vision transformers are pruned by magnitude.", "abstract"),
    ]
    ruled = await Lexical().verify(claims, PAPER, Bill())
    assert [one.supported for one in ruled] == [True, True, False, True, False, False]


def test_claims_without_a_model_are_literal() -> None:
    texts = [claim.text for claim in literal(replace(WEAK, risks=("It may fail. It may cost.",)))]
    assert "Experiment 1 studies the model a 7B model." in texts
    assert "It may fail." in texts
    assert "It may cost." in texts
    assert not any("An idea" in text for text in texts)  # the title


def script(request: scripted.Request) -> scripted.Reply:
    if "atomic claims" in request.prompt:
        told = [
            ("We run it.", "experiments[0].setup"),
            ("Not there.", "nowhere"),
            ("It is good.", "hypothesis"),
        ]
        return scripted.answer({"claims": [{"part": part, "text": text} for text, part in told]})
    answers = [
        {"id": "c1", "explanation": "it says so", "answer": "YES"},
        {"id": "c9", "explanation": "", "answer": "NO"},
    ]
    return scripted.answer({"answers": answers})


async def test_a_model_splits_and_rules_and_what_it_leaves_out_is_not_counted() -> None:
    with ScriptedModels(script) as models:
        async with opened(Endpoint(models.base_url, "small")) as asker:
            bill = Bill()
            found = await supported(WEAK, own_source(WEAK), asker, ByModel(asker), bill)
    assert [(one.claim.text, one.supported) for one in found.claims] == [
        ("We run it.", True),
        ("It is good.", None),
    ]
    assert found.ratio == 1.0
    assert bill.total.calls == 2
    assert found.method == "small, prompt v1"
    assert all("<<" in json.dumps(request.body) for request in models.requests)


class Judge:
    """Entails what stands in the premise, and leaves every third one unscored."""

    async def entail(
        self, premise: str, hypotheses: Sequence[str], *, atomic: bool = True, searching: bool = False
    ) -> Rulings:
        assert not atomic
        ruled = []
        for i, text in enumerate(hypotheses):
            verdict = Verdict.ENTAILED if text in premise else Verdict.NEUTRAL
            ruled.append(JudgeRuled(i, text, Verdict.UNSCORED if i % 3 == 2 else verdict))
        return Rulings(tuple(ruled), "abc", "unknown")


async def test_the_judge_rules_and_what_it_does_not_score_is_not_counted() -> None:
    claims = [Claim(text, "abstract") for text in ("a", "z", "b")]
    verifier = ByJudge(Judge())
    ruled = await verifier.verify(claims, "a b", Bill())
    assert [one.supported for one in ruled] == [True, False, None]
    assert Support(tuple(ruled), verifier.method).ratio == pytest.approx(0.5)
    assert verifier.method == "judge abc"
    assert await verifier.verify([], "a", Bill()) == []


async def test_nothing_ruled_on_is_no_ratio() -> None:
    assert Support((), "lexical").ratio is None


async def test_many_claims_are_asked_in_batches() -> None:
    def reply(request: scripted.Request) -> scripted.Reply:
        ids = [line.split(":")[0] for line in request.prompt.splitlines() if line.startswith("c")]
        known = [{"id": id_, "explanation": "", "answer": "NO"} for id_ in ids if id_[1:].isdigit()]
        return scripted.answer({"answers": known})

    with ScriptedModels(reply) as models:
        async with opened(Endpoint(models.base_url, "small")) as asker:
            ruled = await ByModel(asker).verify(
                [Claim(f"claim {i}.", "abstract") for i in range(120)], "x", Bill()
            )
    assert len(models.requests) == 3
    assert [one.supported for one in ruled] == [False] * 120
