"""The judge that asks a model: claims and verdicts by JSON schema, one entry per claim id.

What the model leaves out or gets wrong is asked for again, one claim at a time; what stays wrong is
UNSCORED. The texts come from agents and are hostile: each request fences them with a marker that no writer
can know.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

from firetrial_judge.claims import MAX_CLAIM_CHARS, MAX_CLAIMS, Claim, Extraction, Kind
from firetrial_judge.judgement import Judge, JudgeConfig, Spent
from firetrial_judge.text import MAX_CHARS, clean, units
from firetrial_judge.verdict import Ruling, Span, Verdict
from firetrial_kit.models import Endpoint, MalformedAnswer, Message, ModelClient, Usage

_BATCH = 40  # claims in one request
_GIVE_UP = 3  # malformed answers in a row after which the rest is left UNSCORED
_DECIDED = [v.value for v in Verdict if v is not Verdict.UNSCORED]


@dataclass(frozen=True, slots=True)
class Prompts:
    """The instructions of one version. `version` ends in a hash, so that an edited prompt is another one."""

    version: str
    claims: str
    verdicts: str


def load_prompts(version: str = "v1") -> Prompts:
    """Read the prompts that ship with the package."""
    folder = files("firetrial_judge") / "prompts"
    claims, verdicts = ((folder / f"{n}.{version}.txt").read_text("utf-8") for n in ("claims", "verdicts"))
    return Prompts(f"{version}-{sha256((claims + verdicts).encode()).hexdigest()[:8]}", claims, verdicts)


def _listing(name: str, item: Mapping[str, Any]) -> dict[str, Any]:
    entry = {"type": "object", "properties": item, "required": list(item), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": entry}},
        "required": [name],
        "additionalProperties": False,
    }


_CLAIMS_SCHEMA = _listing(
    "claims",
    {
        "sentence": {"type": "integer"},
        "text": {"type": "string"},
        "kind": {"type": "string", "enum": [kind.value for kind in Kind]},
    },
)
_VERDICTS_SCHEMA = _listing(
    "verdicts",
    {
        "id": {"type": "string"},
        "verdict": {"type": "string", "enum": _DECIDED},
        "rationale": {"type": "string"},
        "evidence": {"type": "string"},
    },
)
# One bad entry must not cost the others a second paid call: entries are checked one by one here.
_VERDICTS_ACCEPTED = {
    "type": "object",
    "properties": {"verdicts": {"type": "array"}},
    "required": ["verdicts"],
}


class ModelJudge:
    """The `Judge` port over a model. `token` makes the markers; they must be unguessable."""

    quality = "model judge, not calibrated against people"

    def __init__(
        self,
        client: ModelClient,
        prompts: Prompts,
        *,
        token: Callable[[], str] = lambda: secrets.token_hex(12),
    ) -> None:
        self._client = client
        self._prompts = prompts
        self._token = token
        self.config = JudgeConfig(
            backend="model",
            model=client.endpoint.model,
            prompts=prompts.version,
            endpoint=client.endpoint.base_url,
        )

    async def claims(self, text: str) -> tuple[Extraction, Spent]:
        """The claims of a text, each with the span of its sentence. Raises the client's ModelErrors."""
        cleaned = clean(text)
        sentences = units(cleaned)
        if not sentences:
            return Extraction(()), Spent()
        numbered = "\n".join(
            f"[{n}] {' '.join(cleaned[s.start : s.end].split())}" for n, s in enumerate(sentences, 1)
        )
        schema = _within(_CLAIMS_SCHEMA, len(sentences))
        answer = await self._client.ask(
            self._messages(self._prompts.claims, "TEXT", numbered), schema, name="claims"
        )
        notes = [f"text cut at {MAX_CHARS} of {len(text)} characters"] if len(text) > MAX_CHARS else []
        return _extraction(answer.value["claims"], sentences, notes), _spent(answer.usage)

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        """One ruling per claim. Raises UpstreamUnavailable and UpstreamRefused, never MalformedAnswer."""
        reference = clean(reference)
        rulings: dict[str, Ruling] = {}
        spent = Spent()
        for at in range(0, len(claims), _BATCH):
            found, cost = await self._batch(claims[at : at + _BATCH], reference)
            rulings |= found
            spent += cost
        strikes = 0
        for claim in claims:
            if claim.id in rulings or strikes >= _GIVE_UP:
                continue
            found, cost = await self._batch([claim], reference)
            rulings |= found
            spent += cost
            strikes = 0 if claim.id in found else strikes + 1
        unscored = (
            Ruling(c.id, Verdict.UNSCORED, "the model gave no usable verdict")
            for c in claims
            if c.id not in rulings
        )
        return [*rulings.values(), *unscored], spent

    async def _batch(self, claims: Sequence[Claim], reference: str) -> tuple[dict[str, Ruling], Spent]:
        """The well-formed verdicts on these claims by id; fewer than asked for where some are not."""
        listed = json.dumps([{"id": c.id, "claim": c.text} for c in claims], ensure_ascii=False, indent=1)
        messages = self._messages(self._prompts.verdicts, "REFERENCE", reference, "CLAIMS", listed)
        try:
            answer = await self._client.ask(
                messages, _VERDICTS_SCHEMA, name="verdicts", accept=_VERDICTS_ACCEPTED
            )
        except MalformedAnswer as error:
            return {}, _spent(error.usage)
        wanted = {claim.id for claim in claims}
        return _rulings(answer.value["verdicts"], wanted, reference), _spent(answer.usage)

    def _messages(self, prompt: str, *titled: str) -> list[Message]:
        """The prompt, and titled texts between markers; a text that holds the marker gets another."""
        marker = self._token()
        while any(marker in text for text in titled):
            marker = self._token()
        fenced = [
            f"<<{marker} {title}\n{text}\n{marker}>>"
            for title, text in zip(titled[::2], titled[1::2], strict=True)
        ]
        return [Message("system", prompt.format(marker=marker)), Message("user", "\n\n".join(fenced))]


def opener(endpoint: Callable[[str], Endpoint], stack: AsyncExitStack) -> Callable[[str], Judge]:
    """Makes a judge for a model by name; `stack` closes its connections."""
    prompts = load_prompts()

    def opened(model: str) -> Judge:
        client = ModelClient(endpoint(model))
        stack.push_async_callback(client.aclose)
        return ModelJudge(client, prompts)

    return opened


def _within(schema: Mapping[str, Any], sentences: int) -> dict[str, Any]:
    """The claims' schema with the sentence's number bounded."""
    bounded = json.loads(json.dumps(schema))
    bounded["properties"]["claims"]["items"]["properties"]["sentence"] |= {"minimum": 1, "maximum": sentences}
    return dict(bounded)


def _extraction(
    entries: Sequence[Mapping[str, Any]], sentences: Sequence[Span], notes: list[str]
) -> Extraction:
    claims: list[Claim] = []
    seen: set[str] = set()
    for entry in entries:
        text = " ".join(clean(str(entry["text"])).split())[:MAX_CLAIM_CHARS]
        if not text or text.casefold() in seen:
            continue
        seen.add(text.casefold())
        span = sentences[entry["sentence"] - 1]
        claims.append(Claim(f"c{len(claims) + 1}", text, span.start, span.end, Kind(entry["kind"])))
    if len(claims) > MAX_CLAIMS:
        notes.append(f"claims cut at {MAX_CLAIMS} of {len(claims)}")
    return Extraction(tuple(claims[:MAX_CLAIMS]), tuple(notes))


def _rulings(entries: Sequence[Any], wanted: set[str], reference: str) -> dict[str, Ruling]:
    """Rulings by claim id. An id that comes twice with two verdicts has none; unknown ids are dropped."""
    found: dict[str, Ruling] = {}
    disputed: set[str] = set()
    for entry in entries:
        ruling = _ruling(entry, reference)
        if ruling is None or ruling.claim_id not in wanted:
            continue
        if found.setdefault(ruling.claim_id, ruling).verdict is not ruling.verdict:
            disputed.add(ruling.claim_id)
    return {id_: ruling for id_, ruling in found.items() if id_ not in disputed}


def _ruling(entry: Any, reference: str) -> Ruling | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        return None
    if entry.get("verdict") not in _DECIDED:
        return None
    rationale, quote = entry.get("rationale"), entry.get("evidence")
    return Ruling(
        entry["id"],
        Verdict(entry["verdict"]),
        rationale.strip()[:1000] if isinstance(rationale, str) else "",
        _place(quote, reference) if isinstance(quote, str) else None,
    )


def _place(quote: str, reference: str) -> Span | None:
    """Where the quote stands in the reference, spaces and case aside; None if it does not."""
    bare = " ".join(quote.split())
    if not bare:
        return None
    positions = [i for i, c in enumerate(reference) if not c.isspace()]
    solid = "".join(reference[i] for i in positions).lower()
    if len(solid) != len(positions):  # a few letters change their length in lower case
        return None
    at = solid.find(bare.replace(" ", "").lower())
    return Span(positions[at], positions[at + len(bare.replace(" ", "")) - 1] + 1) if at >= 0 else None


def _spent(usage: Usage) -> Spent:
    return Spent(usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
