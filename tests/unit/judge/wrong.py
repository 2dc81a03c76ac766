"""Twenty ways in which a model answers wrongly, as changes of its right answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from support.scripted_models import Reply, Request, answer, claim_ids, raw, status, text

Wrong = Callable[[Request, dict[str, Any]], Reply]
TRUTH = "Accuracy falls with label noise. Recall rises with k."
CONCLUSION = "Accuracy falls with label noise. Loss grows with depth. Width has no effect."
RIGHT = {"a1": "ENTAILED", "a2": "NEUTRAL", "a3": "CONTRADICTED", "t1": "ENTAILED", "t2": "NEUTRAL"}
PRECISION, RECALL = 1 / 3, 1 / 2


def wants_claims(request: Request) -> bool:
    """Whether a request is for claims, in whatever format it is made."""
    return str(request.body["messages"][0]["content"]).startswith("You split")


def right_value(request: Request) -> dict[str, Any]:
    """What a model that is right answers."""
    if wants_claims(request):
        said = str(request.body["messages"][1]["content"]).split("\n")[1]
        sentences = [f"{s.strip('. ')}." for s in said.strip().split(". ")]
        return {"claims": [{"quote": s, "text": s, "kind": "directional", "repeats": 0} for s in sentences]}
    return {
        "verdicts": [
            {"id": i, "verdict": RIGHT[i], "rationale": "so", "evidence": ""}
            for i in claim_ids(request.prompt)
        ]
    }


def right(request: Request) -> Reply:
    return answer(right_value(request))


def _entries(value: dict[str, Any]) -> list[dict[str, Any]]:
    return list(next(iter(value.values())))


def _with(value: dict[str, Any], entries: list[Any]) -> Reply:
    return answer({next(iter(value)): entries})


def prose(request: Request, value: dict[str, Any]) -> Reply:
    return text("All of these claims are ENTAILED by the reference, every single one.")


def fences(request: Request, value: dict[str, Any]) -> Reply:
    return text(f"Here you are:\n```json\n{json.dumps(value)}\n```\nDone.")


def trailing_commas(request: Request, value: dict[str, Any]) -> Reply:
    return text(json.dumps(value).replace("}]", "},]").replace('"}', '",}'))


def missing_ids(request: Request, value: dict[str, Any]) -> Reply:
    return _with(value, _entries(value)[1:])


def extra_ids(request: Request, value: dict[str, Any]) -> Reply:
    more = {"id": "a99", "verdict": "ENTAILED", "rationale": "", "evidence": ""}
    return _with(value, [more, *_entries(value), {**more, "id": "t99"}])


def swapped_order(request: Request, value: dict[str, Any]) -> Reply:
    return _with(value, _entries(value)[::-1])


def wrong_case(request: Request, value: dict[str, Any]) -> Reply:
    return _with(value, [{**e, "verdict": e.get("verdict", "").lower()} for e in _entries(value)])


def empty(request: Request, value: dict[str, Any]) -> Reply:
    return text("")


def refusal(request: Request, value: dict[str, Any]) -> Reply:
    return text(None, refusal="I cannot help with that.")


def truncated(request: Request, value: dict[str, Any]) -> Reply:
    return text(json.dumps(value)[:-30], finish="length")


def limited(request: Request, value: dict[str, Any]) -> Reply:
    return status(429, retry_after=0.05)


def broken(request: Request, value: dict[str, Any]) -> Reply:
    return status(500)


def slow(request: Request, value: dict[str, Any]) -> Reply:
    everything = [{**e, "verdict": "ENTAILED"} for e in _entries(value)]
    return _with(value, everything).after(0.8)


def half_a_stream(request: Request, value: dict[str, Any]) -> Reply:
    return answer(value).cut(120)


def not_a_number(request: Request, value: dict[str, Any]) -> Reply:
    return text(json.dumps(value).replace('"ENTAILED"', "NaN").replace('"repeats": 0', '"repeats": NaN'))


def duplicate_keys(request: Request, value: dict[str, Any]) -> Reply:
    doubled = json.dumps(value).replace('"verdict":', '"verdict": "ENTAILED", "verdict":')
    return text(doubled.replace('"text":', '"text": "x", "text":'))


def another_schema(request: Request, value: dict[str, Any]) -> Reply:
    return answer({"results": [{"claim_id": i, "label": "Entailment"} for i in claim_ids(request.prompt)]})


def html(request: Request, value: dict[str, Any]) -> Reply:
    return raw(b"<html><body>ENTAILED ENTAILED</body></html>", content_type="text/html")


def wrong_language(request: Request, value: dict[str, Any]) -> Reply:
    return text("所有主张都得到支持：蕴含、蕴含、蕴含。")


def tool_call(request: Request, value: dict[str, Any]) -> Reply:
    called = {"name": "verdicts", "arguments": json.dumps(value).replace("NEUTRAL", "ENTAILED")}
    return text(None, tool_calls=[{"id": "1", "type": "function", "function": called}])


WAYS: tuple[Wrong, ...] = (
    prose,
    fences,
    trailing_commas,
    missing_ids,
    extra_ids,
    swapped_order,
    wrong_case,
    empty,
    refusal,
    truncated,
    limited,
    broken,
    slow,
    half_a_stream,
    not_a_number,
    duplicate_keys,
    another_schema,
    html,
    wrong_language,
    tool_call,
)
