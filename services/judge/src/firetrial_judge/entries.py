"""What a model is asked to answer, as JSON schemas, and what its entries say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firetrial_judge.claims import CAPPED, MAX_CLAIM_CHARS, MAX_CLAIMS, Claim, Extraction, Kind
from firetrial_judge.merging import merge_note
from firetrial_judge.quoting import Quoted
from firetrial_judge.text import clean
from firetrial_judge.verdict import Ruling, Span, Verdict

_DECIDED = [v.value for v in Verdict if v is not Verdict.UNSCORED]
_MAX_RATIONALE = 1000


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _listing(name: str, item: Mapping[str, Any]) -> dict[str, Any]:
    return _object({name: {"type": "array", "items": _object(item)}})


CLAIMS = _listing(
    "claims",
    {
        "quote": {"type": "string"},
        "text": {"type": "string"},
        "kind": {"type": "string", "enum": [kind.value for kind in Kind]},
        "repeats": {"type": "integer"},
    },
)
VERDICTS = _listing(
    "verdicts",
    {
        "id": {"type": "string"},
        "verdict": {"type": "string", "enum": _DECIDED},
        "rationale": {"type": "string"},
        "evidence": {"type": "string"},
    },
)
# One bad entry must not cost the others a second paid call: entries are checked one by one here.
VERDICTS_ACCEPTED = {
    "type": "object",
    "properties": {"verdicts": {"type": "array"}},
    "required": ["verdicts"],
}
CORE_IDEA = _object({"core_idea": {"type": "string"}})


def extraction(entries: Sequence[Mapping[str, Any]], text: str, sentences: Sequence[Span]) -> Extraction:
    """The claims c1, c2, … with the spans of their sentences; those that repeat an earlier one are merged.

    A claim whose quote is nowhere in the text keeps the nearest sentence; one that shares no word with any
    sentence was made up, and is left out with a note.
    """
    quoted = Quoted(text, sentences)
    claims: list[Claim] = []
    seen: set[str] = set()
    repeated = invented = 0
    for number, entry in enumerate(entries, 1):
        said = " ".join(clean(str(entry["text"])).split())[:MAX_CLAIM_CHARS]
        span = quoted.sentence(entry["quote"]) or quoted.sentence(said)
        if not said or said.casefold() in seen:
            continue
        if 0 < entry["repeats"] < number:
            repeated += 1
        elif span is None:
            invented += 1
        else:
            seen.add(said.casefold())
            claims.append(Claim(f"c{len(claims) + 1}", said, span.start, span.end, Kind(entry["kind"])))
    notes = [merge_note(repeated)] if repeated else []
    if invented:
        notes.append(f"{invented} claims left out that are nowhere in the text")
    if len(claims) > MAX_CLAIMS:
        notes.append(f"claims cut at {MAX_CLAIMS} of {len(claims)}")
    flags = (CAPPED,) if len(claims) > MAX_CLAIMS else ()
    return Extraction(tuple(claims[:MAX_CLAIMS]), tuple(notes), flags, found=len(claims))


def rulings(entries: Iterable[Any], references: Mapping[str, str]) -> dict[str, Ruling]:
    """Rulings by claim id, each with its evidence in the reference that belongs to the id.

    An id that comes twice with two verdicts has none; ids that were not asked about are dropped, as are
    entries with any verdict but the three.
    """
    texts = {reference: Quoted(reference) for reference in set(references.values())}
    quoted = {id_: texts[reference] for id_, reference in references.items()}
    found: dict[str, Ruling] = {}
    disputed: set[str] = set()
    for entry in entries:
        ruling = _ruling(entry, quoted)
        if ruling is not None and found.setdefault(ruling.claim_id, ruling).verdict is not ruling.verdict:
            disputed.add(ruling.claim_id)
    return {id_: ruling for id_, ruling in found.items() if id_ not in disputed}


def _ruling(entry: Any, quoted: Mapping[str, Quoted]) -> Ruling | None:
    if not isinstance(entry, dict) or entry.get("verdict") not in _DECIDED:
        return None
    id_ = entry.get("id")
    if not isinstance(id_, str) or id_ not in quoted:
        return None
    rationale, quote = entry.get("rationale"), entry.get("evidence")
    return Ruling(
        id_,
        Verdict(entry["verdict"]),
        rationale.strip()[:_MAX_RATIONALE] if isinstance(rationale, str) else "",
        quoted[id_].passage(quote) if isinstance(quote, str) else None,
    )
