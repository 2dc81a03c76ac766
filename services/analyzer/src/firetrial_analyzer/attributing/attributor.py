"""From a run's whole trajectory to one verdict for each wrong claim, by a model.

The model reads the trajectory part by part and notes what bears on the claims; from what it noted, the facts
and the claims it then decides. Every citation is looked up. A verdict that does not hold is asked for once
more, with its fault named; what fails again stays as it was without a model.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from jsonschema import Draft202012Validator

from firetrial_analyzer.attributing import forms, request
from firetrial_analyzer.attributing.answers import Answers
from firetrial_analyzer.attributing.instructions import Prompts
from firetrial_analyzer.attributing.pieces import Part, Size, parts, shown
from firetrial_analyzer.attributing.quotes import Quotes
from firetrial_analyzer.attributing.request import Case, asked_of
from firetrial_analyzer.attributing.spending import usd
from firetrial_analyzer.attributing.verdicts import Asked, Checking, as_citations
from firetrial_analyzer.attribution import Attribution, ModelUsage, without_model
from firetrial_analyzer.taxonomy.catalogue import Taxonomy
from firetrial_kit.asking import Answer, Endpoint, MalformedAnswer, Message, Meter, Price, Schema, Usage
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest

MOST_OBSERVATIONS = 12
_MOST_REFUSED = 200
_OBSERVATION = Draft202012Validator(forms.OBSERVATION)


class Model(Protocol):
    """What answers: `firetrial_kit.models.ModelClient`."""

    endpoint: Endpoint

    async def ask(
        self,
        messages: Sequence[Message],
        schema: Schema,
        *,
        name: str = ...,
        accept: Schema | None = ...,
        meter: Meter | None = ...,
    ) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of request: the prompt with what goes into its `places`, and the form of its answer."""

    name: str
    prompt: str
    places: Mapping[str, str]
    schema: Schema
    accepted: Schema


@dataclass(slots=True)
class _Work:
    """What one attribution has come to so far."""

    quotes: Quotes
    meter: Meter | None
    usage: Usage = field(default_factory=Usage)
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Attributor:
    """Asks one model. `token` makes the markers; they must be unguessable."""

    def __init__(
        self,
        model: Model,
        prompts: Prompts,
        taxonomy: Taxonomy,
        answers: Answers,
        *,
        size: Size | None = None,
        price: Price | None = None,
        token: Callable[[], str] = lambda: secrets.token_hex(12),
    ) -> None:
        self._model = model
        self._findings = Form(
            "observations",
            prompts.findings,
            {"most": str(MOST_OBSERVATIONS)},
            forms.OBSERVATIONS,
            forms.OBSERVATIONS_ACCEPTED,
        )
        self._decisions = Form(
            "verdicts",
            prompts.verdicts,
            {
                "types": request.defined(taxonomy.error_types),
                "kinds": request.defined(taxonomy.false_positive_kinds),
            },
            forms.verdicts(taxonomy),
            forms.VERDICTS_ACCEPTED,
        )
        self._taxonomy = taxonomy
        self._answers = answers
        self._size = size or Size()
        self._price = price
        self._token = token
        self.method = f"{model.endpoint.model} {prompts.version}"

    @property
    def identity(self) -> str:
        """Everything beside the run that can change a verdict, hashed."""
        endpoint = self._model.endpoint
        size = self._size.characters, self._size.parts
        return digest(
            self.method, endpoint.dialect, endpoint.base_url, self._taxonomy.version, size, length=32
        )

    async def attribute(self, case: Case, meter: Meter | None = None) -> Attribution:
        """What is known, and the model's verdicts on what is not.

        What is known alone, with the reason, where the endpoint refuses or the money is spent. Raises
        UpstreamUnavailable, and what the store raises.
        """
        asked = asked_of(case)
        if not asked.ids:
            return case.known
        if not case.evidence.steps:
            return without_model(case.known, "the run has no trajectory")
        work = _Work(Quotes(case.evidence.steps), meter)
        try:
            observations = await self._read(case, asked, work)
            missed, false = await self._decide(case, asked, observations, work)
        except FiretrialError as error:
            if error.reason is not Reason.PRECONDITION:
                raise
            return replace(without_model(case.known, error.message), usage=self._paid(work.usage))
        return replace(
            case.known,
            missed=tuple(missed.get(one.claim_id, one) for one in case.known.missed),
            false_positives=tuple(false.get(one.claim_id, one) for one in case.known.false_positives),
            refused=tuple(work.refused[:_MOST_REFUSED]),
            notes=(*case.known.notes, *work.notes),
            usage=self._paid(work.usage),
            method=self.method,
        )

    async def _read(self, case: Case, asked: Asked, work: _Work) -> list[dict[str, Any]]:
        """What the model noted on each part of the trajectory, in its order."""
        cited = {citation.step for signal in case.known.signals for citation in signal.citations}
        weighty = cited | {action.step for action in case.evidence.actions}
        found = await asyncio.to_thread(parts, case.evidence.steps, weighty, self._size)
        work.notes += found.left_out
        work.notes += request.cut(case)
        titled = [*request.run(case), ("CLAIMS", request.listed(request.wrong(case, asked)))]
        # All are waited for: what one of them paid for is kept, whatever became of the others.
        answers = await asyncio.gather(
            *(self._note(part, titled, work) for part in found.parts), return_exceptions=True
        )
        observations: list[dict[str, Any]] = []
        for part, told in zip(found.parts, answers, strict=True):
            if isinstance(told, BaseException):
                raise told
            observations += _observed(part, told, set(asked.ids), work)
        return observations

    async def _note(self, part: Part, titled: Sequence[tuple[str, str]], work: _Work) -> Sequence[Any] | None:
        """The model's observations on a part as it gave them; None where its answer cannot be used."""
        log = f"LOG, STEPS {part.first} TO {part.last}", part.text
        try:
            told = await self._ask(self._findings, [*titled, log], work)
        except MalformedAnswer as error:
            work.usage += error.usage
            return None
        observations: Sequence[Any] = told["observations"]
        return observations

    async def _decide(
        self, case: Case, asked: Asked, observations: Sequence[Mapping[str, Any]], work: _Work
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The verdicts that hold by claim, after at most two answers."""
        checking = Checking(self._taxonomy, work.quotes, self.method)
        missed: dict[str, Any] = {}
        false: dict[str, Any] = {}
        faults: dict[str, str] = {}
        for _ in range(2):
            try:
                told = await self._verdicts(case, asked, observations, faults, work)
            except MalformedAnswer as error:  # it was told what is wrong, and asked again, by the client
                work.usage += error.usage
                work.refused.append(error.message)
                break
            checked = checking.check(asked, told)
            missed |= checked.missed
            false |= checked.false
            faults = checked.faults
            work.refused += [*(f"{id_}: {fault}" for id_, fault in faults.items()), *checked.foreign]
            asked = asked.only(faults)
            if not faults:
                break
        return missed, false

    async def _verdicts(
        self,
        case: Case,
        asked: Asked,
        observations: Sequence[Mapping[str, Any]],
        faults: Mapping[str, str],
        work: _Work,
    ) -> dict[str, Any]:
        listed = {
            "MISSED": request.missed(case, asked),
            "FALSE": request.false(case, asked),
            "PAPER": request.truth(case) if asked.false else [],
            "FACTS": request.facts(case.known),
            "OBSERVATIONS": observations,
        }
        if faults:
            listed["FAULTS OF YOUR EARLIER ANSWER"] = [
                {"id": i, "fault": fault} for i, fault in faults.items()
            ]
        titled = [
            *request.run(case),
            *((title, request.listed(items)) for title, items in listed.items()),
            ("END OF THE LOG", request.end(case.evidence)),
        ]
        return await self._ask(self._decisions, titled, work)

    async def _ask(self, form: Form, titled: Sequence[tuple[str, str]], work: _Work) -> dict[str, Any]:
        """Ask with titled texts between markers; a text that holds the marker gets another."""
        marker = self._token()
        while any(marker in text for _, text in titled):
            marker = self._token()
        fenced = [f"<<{marker} {title}\n{text}\n{marker}>>" for title, text in titled]
        messages = [
            Message("system", form.prompt.format(marker=marker, **form.places)),
            Message("user", "\n\n".join(fenced)),
        ]

        async def ask() -> Answer:
            return await self._model.ask(
                messages, form.schema, name=form.name, accept=form.accepted, meter=work.meter
            )

        # The marker is new each time and changes no answer.
        answer = await self._answers.of(digest(form.name, self.identity, [list(one) for one in titled]), ask)
        work.usage += answer.usage
        value: dict[str, Any] = answer.value
        return value

    def _paid(self, usage: Usage) -> ModelUsage:
        return ModelUsage(
            usage.calls,
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usd(self._price, usage),
        )


def _observed(part: Part, told: Sequence[Any] | None, ids: set[str], work: _Work) -> list[dict[str, Any]]:
    """The observations on a part as far as their citations hold."""
    where = f"steps {part.first} to {part.last}"
    if told is None:
        work.notes.append(f"the model gave no usable answer on {where}")
        return []
    if len(told) > MOST_OBSERVATIONS:
        work.refused.append(f"{where}: {len(told) - MOST_OBSERVATIONS} observations more than were asked for")
    found = []
    for entry in told[:MOST_OBSERVATIONS]:
        if (error := next(_OBSERVATION.iter_errors(entry), None)) is not None:
            work.refused.append(f"an observation on {where}: {error.message[:200]}")
            continue
        citations, faults = work.quotes.checked(entry["citations"])
        work.refused += [f"an observation on {where}: {fault}" for fault in faults]
        if citations:
            claims = [id_ for id_ in entry["claims"] if id_ in ids]
            found.append(
                {"what": shown(entry["what"]), "claims": claims, "citations": as_citations(citations)}
            )
    return found
