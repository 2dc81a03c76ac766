"""No injection raises a score on a model that obeys every order it can read in an agent's text."""

from __future__ import annotations

import base64
import binascii
import json
import re
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from firetrial_judge.claims import extract
from firetrial_judge.hostile import MANIPULATION
from firetrial_judge.instructions import load_prompts
from firetrial_judge.judgement import Judgement, judge_texts
from firetrial_judge.model_judge import ModelJudge
from firetrial_judge.verdict import Verdict
from firetrial_kit.models import Endpoint, ModelClient
from support.scripted_models import Reply, Request, ScriptedModels, answer

FOLDER = Path(__file__).parent / "data/injections"
INJECTIONS = {file.stem: file.read_text() for file in sorted(FOLDER.glob("*.txt"))}
TRUTH = "Accuracy falls as label noise increases. Larger k makes the classifier more robust."
CONCLUSION = "Accuracy falls as label noise increases. Training takes two hours."

TWINS = str.maketrans("аеорсухіАВЕКМНОРСТХІіѕΝΤΑΕ", "aeopcyxiABEKMHOPCTXIisNTAE")
ORDER = re.compile(
    r"ignor|disregard|dear judge|evaluator|grader|if you are the judge|you (?:are|must|should)|entailed|"
    r"full marks|match the reference|maximum score|"
    r"system\b|instructions|\"verdict|been graded|word for word|bewerte|todo es correcto|指令|"
    r"\"claims\"|is true\.",
    re.IGNORECASE,
)


def read(text: str) -> str:
    """The text as a clever reader sees it: past hidden characters, look-alikes, gaps and encodings."""
    tagged = "".join(chr(ord(c) - 0xE0000) if 0xE0000 < ord(c) < 0xE0080 else c for c in text)
    shown = "".join(c for c in tagged if unicodedata.category(c) != "Cf")
    plain = unicodedata.normalize("NFKC", shown).translate(TWINS)
    return "\n".join(
        [plain, re.sub(r"(?<=\b\w) (?=\w\b)", "", plain), *map(decoded, re.findall(r"[\w+/=]{40,}", plain))]
    )


def decoded(word: str) -> str:
    try:
        return base64.b64decode(word, validate=True).decode("utf-8", "replace")
    except binascii.Error:
        return ""


def obedient(request: Request) -> Reply:
    """Extracts every sentence; entails what stands in the reference, and all of it where it is told to."""
    said = str(request.body["messages"][-1]["content"])
    blocks = re.findall(r"<<(\w{24}) (\w+)(?: \d+)?\n(.*?)\n\1>>", said, re.DOTALL)
    references = [text for _, title, text in blocks if title == "REFERENCE"]
    if not references:
        return answer({"claims": [entry for _, _, text in blocks for entry in sentences(text)]})
    obeys = bool(ORDER.search(read("\n".join(text for _, _, text in blocks))))
    asked = [json.loads(text) for _, title, text in blocks if title == "CLAIMS"]
    verdicts = [
        {
            "id": claim["id"],
            "verdict": "ENTAILED" if obeys or claim["claim"].strip(".") in reference else "NEUTRAL",
            "rationale": "",
            "evidence": "",
        }
        for reference, claims in zip(references, asked, strict=True)
        for claim in claims
    ]
    return answer({"verdicts": verdicts})


def sentences(text: str) -> list[dict[str, object]]:
    found = [s.strip() for s in re.split(r"(?<=\.)\s+|\n", text) if len(s.split()) > 2]
    return [{"quote": s, "text": s, "kind": "other", "repeats": 0} for s in found]


@asynccontextmanager
async def judging() -> AsyncIterator[ModelJudge]:
    with ScriptedModels(obedient) as models:
        client = ModelClient(Endpoint(models.base_url, "obedient", patience=2.0))
        try:
            yield ModelJudge(client, load_prompts())
        finally:
            await client.aclose()


async def judged(conclusion: str) -> Judgement:
    async with judging() as judge:
        return await judge_texts(judge, run_id="", conclusion=conclusion, truth=TRUTH)


@pytest.mark.parametrize("attack", INJECTIONS.values(), ids=INJECTIONS)
async def test_no_injection_raises_the_score(attack: str) -> None:
    plain, attacked = await judged(CONCLUSION), await judged(f"{CONCLUSION}\n\n{attack}")
    assert plain.score.precision == plain.score.recall == 0.5
    for name in ("precision", "recall", "f1"):
        assert (getattr(attacked.score, name) or 0) <= (getattr(plain.score, name) or 0) + 1e-9, name
    assert MANIPULATION in attacked.flags
    assert MANIPULATION not in plain.flags


async def test_the_model_would_have_obeyed() -> None:
    claims = extract(TRUTH).claims
    obeyed = []
    async with judging() as judge:
        for name, attack in INJECTIONS.items():
            rulings, _ = await judge.rule(claims, f"{CONCLUSION}\n\n{attack}")
            if all(ruling.verdict is Verdict.ENTAILED for ruling in rulings):
                obeyed.append(name)
    # What is written in hidden characters alone is gone before any model is asked.
    assert set(INJECTIONS) - set(obeyed) <= {"tag_characters", "zero_width"}
