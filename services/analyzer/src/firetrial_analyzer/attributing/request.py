"""What a model is shown of a run: each text by itself, to be fenced as data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firetrial_analyzer.attributing.pieces import Size, parts
from firetrial_analyzer.attributing.verdicts import Asked, as_citations
from firetrial_analyzer.attribution import RUN, Attribution
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.taxonomy.evidence import Evidence

_MOST_TEXT = 20_000  # characters of an instruction or a conclusion
_END = 4000  # characters of the log's end that go with the observations


@dataclass(frozen=True, slots=True)
class Case:
    """One run: what was asked, concluded and done, the judgement where there is one, and what is known."""

    instruction: str
    conclusion: str
    evidence: Evidence
    judgement: Judgement | None
    known: Attribution


def asked_of(case: Case) -> Asked:
    """What the signals leave open, and every false claim; the judge's word on a contradiction stands."""
    judgement = case.judgement
    claims = judgement.agent_claims if judgement else ()
    return Asked(
        tuple(one for one in case.known.missed if not one.type),
        case.known.false_positives,
        frozenset(claim.id for claim in (judgement.truth_claims if judgement else ())),
        frozenset(claim.id for claim in claims if claim.verdict is Verdict.CONTRADICTED),
    )


def run(case: Case) -> list[tuple[str, str]]:
    return [
        ("TASK", case.instruction[:_MOST_TEXT]),
        ("CONCLUSION", case.conclusion[:_MOST_TEXT] or "(The agent gave none.)"),
    ]


def cut(case: Case) -> list[str]:
    """What `run` leaves out."""
    texts = {"instruction": case.instruction, "conclusion": case.conclusion}
    return [
        f"the model was shown the first {_MOST_TEXT} of {len(text)} characters of the {name}"
        for name, text in texts.items()
        if len(text) > _MOST_TEXT
    ]


def wrong(case: Case, asked: Asked) -> list[dict[str, str]]:
    return [*missed(case, asked), *false(case, asked)]


def missed(case: Case, asked: Asked) -> list[dict[str, str]]:
    text = _texts(case.judgement.truth_claims if case.judgement else ())
    text[RUN] = "The run failed: it gave nothing that could be judged."
    return [{"id": one.claim_id, "missed": text.get(one.claim_id, "")} for one in asked.missed]


def false(case: Case, asked: Asked) -> list[dict[str, str]]:
    text = _texts(case.judgement.agent_claims if case.judgement else ())
    return [
        {"id": one.claim_id, "false": text.get(one.claim_id, "")}
        | ({"settled": str(one.kind)} if one.claim_id in asked.settled else {})
        for one in asked.false
    ]


def truth(case: Case) -> list[dict[str, str]]:
    claims = case.judgement.truth_claims if case.judgement else ()
    return [{"id": claim.id, "finding": claim.text} for claim in claims]


def _texts(claims: Iterable[JudgedClaim]) -> dict[str, str]:
    return {claim.id: claim.text for claim in claims}


def facts(known: Attribution) -> list[dict[str, Any]]:
    return [
        {"fact": signal.statement, "citations": as_citations(signal.citations)} for signal in known.signals
    ]


def end(evidence: Evidence) -> str:
    """The last lines of the trajectory, numbered."""
    found = parts(evidence.steps[-60:], (), Size(_END, 1)).parts
    return found[-1].text if found else ""


def defined(entries: Sequence[Any]) -> str:
    return "\n".join(f"{entry.id}: {entry.definition}" for entry in entries)


def listed(items: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps(list(items), ensure_ascii=False, indent=1)
