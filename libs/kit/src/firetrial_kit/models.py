"""Structured answers from a model behind HTTP: messages and a JSON schema in, a checked value out.

Endpoints differ in what they offer: the client asks in the strictest form, steps down where that is refused
or fails, and remembers what worked (see `forms`). An answer that does not fit the schema is asked for again
with the fault named; a rate limit or a failing server is waited out within a budget. Imported by the services
that call a model; nothing else in kit needs the openai package.
"""

from __future__ import annotations

import asyncio
import email.utils
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast
from urllib.parse import urlsplit

import openai
from jsonschema import Draft202012Validator

from firetrial_kit import trace
from firetrial_kit.answers import parsed
from firetrial_kit.asking import (
    Answer,
    Call,
    Choice,
    Endpoint,
    MalformedAnswer,
    Message,
    Meter,
    ModelError,
    Schema,
    UpstreamRefused,
    UpstreamUnavailable,
    Usage,
)
from firetrial_kit.dialects import DIALECTS, Reply, Request, chances_of
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.forms import Forms
from firetrial_kit.pace import Pace
from firetrial_kit.trace import Kind

__all__ = [
    "Answer",
    "Call",
    "Choice",
    "Endpoint",
    "MalformedAnswer",
    "Message",
    "Meter",
    "ModelClient",
    "ModelError",
    "Schema",
    "UpstreamRefused",
    "UpstreamUnavailable",
    "Usage",
]
_SHOWN = 300  # characters of a foreign text that an error repeats
_BAD_REQUEST = frozenset({400, 422})
_LEAST_CHANCE = 0.05  # of the words together; below it the model was about to say something else
_RETRIED = frozenset({408, 409, 425, 429})
_RATE_LIMITS = frozenset({429, 529})  # 529 is Anthropic's "overloaded"


@dataclass(slots=True)
class _Asking:
    """What one answer has taken so far."""

    deadline: float
    usage: Usage = field(default_factory=Usage)
    tries: int = 0


class ModelClient:
    """Asks one model at one endpoint. Use it from one event loop; close it with `aclose`.

    `observe` is told of each request; `payer` gives what pays for one beside the caller's own meter, by the
    model's name: the tenant for whom it is made.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        observe: Callable[[Call], None] = lambda _: None,
        payer: Callable[[str], Meter | None] = lambda _: None,
    ) -> None:
        self.endpoint = endpoint
        self.pace = Pace(endpoint.at_once, clock=clock, sleep=sleep)
        self._clock = clock
        self._sleep = sleep
        self._observe = observe
        self._payer = payer
        self._dialect = DIALECTS[endpoint.dialect]
        self._forms: dict[str, Forms] = {}
        self._temperature: float | None = 0.0
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            # The package insists on a key; local servers have none.
            api_key=endpoint.api_key or "none",
            timeout=endpoint.timeout,
            max_retries=0,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(
        self,
        messages: Sequence[Message],
        schema: Schema,
        *,
        name: str = "answer",
        accept: Schema | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """The model's answer as a value that fits `accept`, by default the `schema` that it was asked for.

        Raises UpstreamUnavailable, UpstreamRefused or MalformedAnswer, and what the meter raises.
        """
        asking = _Asking(self._clock() + self.endpoint.patience)
        validator = Draft202012Validator(accept if accept is not None else schema)
        conversation = list(messages)
        fault = ""
        for _ in range(self.endpoint.repairs + 1):
            request = Request(self.endpoint.model, conversation, schema, name)
            reply = await self._reply(request, asking, meter)
            value, fault = (None, reply.fault) if reply.fault else parsed(reply.text, validator)
            if not fault:
                return Answer(value, asking.usage)
            conversation = [*messages, *_repair(reply.text, fault)]
        raise MalformedAnswer(
            Reason.CORRUPT, f"model {self.endpoint.model!r} gave no usable answer: {fault}", asking.usage
        )

    async def choose(
        self, messages: Sequence[Message], words: Sequence[str], *, meter: Meter | None = None
    ) -> Choice:
        """How likely each word is to be the model's answer, read off its first token: nothing is generated.

        No two words may begin with the same letter. Raises UpstreamUnavailable, UpstreamRefused, and
        MalformedAnswer where the endpoint tells no probabilities or the model would answer something else.
        """
        asking = _Asking(self._clock() + self.endpoint.patience)
        request = Request(self.endpoint.model, messages, {}, name="", one_token=True)
        reply = await self._reply(request, asking, meter)
        chances = chances_of(words, reply.first)
        if sum(chances.values()) < _LEAST_CHANCE:
            fault = f"would answer none of {', '.join(words)}" if reply.first else "tells no logprobs"
            raise MalformedAnswer(Reason.CORRUPT, f"model {self.endpoint.model!r} {fault}", asking.usage)
        return Choice(chances, asking.usage)

    async def _reply(self, request: Request, asking: _Asking, meter: Meter | None) -> Reply:
        """One answer of the model, however often it has to be asked for."""
        asking.tries = 0
        levels = 1 if request.one_token else self._dialect.levels
        attempt = self._forms.setdefault(request.name, Forms(levels)).attempt()
        while True:
            request = replace(request, temperature=self._temperature)
            try:
                reply = await self._metered(request, attempt.level, asking, meter)
            except (openai.OpenAIError, TimeoutError, ValueError) as error:
                if self._minds_temperature(error, request) or attempt.loosen(_status(error)):
                    continue
                asking.tries += 1
                await self._wait(error, asking)
                attempt.restart()
            else:
                attempt.answered()
                asking.usage += reply.usage
                return reply

    def _minds_temperature(self, error: Exception, request: Request) -> bool:
        """Whether a refusal is about the temperature, which some models do not take: it is left out then."""
        told = _status(error) in _BAD_REQUEST and "temperature" in str(error).lower()
        if not told or request.temperature is None:
            return False
        self._temperature = None
        return True

    async def _metered(self, request: Request, level: int, asking: _Asking, meter: Meter | None) -> Reply:
        payers = [each for each in (meter, self._payer(self.endpoint.model)) if each is not None]
        size = sum(len(m.content.encode("utf-8", "replace")) for m in request.messages) if payers else 0
        paid: list[tuple[Meter, str]] = []
        usage = Usage()
        try:
            for payer in payers:
                hold = await self._reserved(payer, size, request, told=payer is meter)
                paid.append((payer, hold))
            reply = await self._send(request, level, asking)
            usage = reply.usage
        finally:
            # Shielded: money that was spent is written down, whoever has lost interest in the answer.
            await asyncio.shield(asyncio.gather(*(payer.settle(hold, usage) for payer, hold in paid)))
        return reply

    async def _reserved(self, payer: Meter, size: int, request: Request, *, told: bool) -> str:
        try:
            return await payer.reserve(size)
        except FiretrialError as error:
            if told and error.reason is Reason.PRECONDITION:
                model, purpose = self.endpoint.model, _purpose(request)
                self._observe(Call(model, 0.0, Usage(), answered=False, purpose=purpose, refused=True))
            raise

    async def _send(self, request: Request, level: int, asking: _Asking) -> Reply:
        """One request, when its turn has come."""
        turn = await self.pace.enter()
        asking.deadline += turn.waited
        purpose, usage, answered = _purpose(request), Usage(), False
        try:
            with trace.span(f"chat {self.endpoint.model}", Kind.CLIENT, self._told(purpose)) as span:
                async with asyncio.timeout(self.endpoint.timeout):
                    reply = await self._dialect.send(self._client, request, level)
                usage, answered = reply.usage, True
                span.note(
                    {
                        "gen_ai.usage.input_tokens": usage.prompt_tokens,
                        "gen_ai.usage.output_tokens": usage.completion_tokens,
                    }
                )
            self.pace.answered()
        except openai.APIStatusError as error:
            if error.status_code in _RATE_LIMITS:
                self.pace.refused(turn, _retry_after(error))
            raise
        finally:
            self.pace.leave()
            seconds = self._clock() - turn.began
            self._observe(Call(self.endpoint.model, seconds, usage, answered, purpose))
        return reply

    def _told(self, purpose: str) -> dict[str, trace.Value]:
        """What a span says of a request: no word of it."""
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.endpoint.dialect,
            "gen_ai.request.model": self.endpoint.model,
            "server.address": urlsplit(self.endpoint.base_url).hostname or "",
            "firetrial.purpose": purpose,
        }

    async def _wait(self, error: Exception, asking: _Asking) -> None:
        """Sleep until the next try is due; raise where none can help or there is no time for it."""
        status = _status(error)
        if status and status < 500 and status not in _RETRIED:
            raise self._refused(cast("openai.APIStatusError", error), asking.usage) from None
        hint = _retry_after(error)
        # Jitter keeps many waiting judges from coming back at once.
        growing = min(0.5 * 2 ** (asking.tries - 1), 30.0) * random.uniform(0.75, 1.25)  # noqa: S311
        pause = growing if hint is None else hint
        if self._clock() + pause >= asking.deadline:
            what = self._safe(str(error)) or type(error).__name__
            raise UpstreamUnavailable(
                Reason.UNAVAILABLE,
                f"{self.endpoint.base_url} did not answer ({asking.tries} tries): {what}",
                asking.usage,
                retry_after=hint,
            ) from None
        await self._sleep(pause)

    def _refused(self, error: openai.APIStatusError, usage: Usage) -> UpstreamRefused:
        return UpstreamRefused(
            Reason.PRECONDITION,
            f"{self.endpoint.base_url} refused model {self.endpoint.model!r} with {error.status_code}: "
            f"{self._safe(str(error))}; check the key, the model's name and the address",
            usage,
        )

    def _safe(self, text: str) -> str:
        """A foreign message, short and without the key, which some servers repeat in part."""
        key = self.endpoint.api_key
        hidden = text.replace(key, "***") if key else text
        return re.sub(r"\b(sk|key)-[\w*.-]{4,}", "***", hidden)[:_SHOWN]


def _status(error: Exception) -> int:
    """The HTTP status that a server answered with, 0 where there is none."""
    return error.status_code if isinstance(error, openai.APIStatusError) else 0


def _retry_after(error: Exception) -> float | None:
    """Seconds that the server asks to wait, from retry-after-ms or retry-after (seconds or a date)."""
    if not isinstance(error, openai.APIStatusError):
        return None
    headers = error.response.headers
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "")
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value)
        when = email.utils.parsedate_to_datetime(value).timestamp() if value else None
        return max(0.0, when - time.time()) if when is not None else None
    except ValueError:
        return None


def _purpose(request: Request) -> str:
    """What the answer is for."""
    return request.name or "choice"


def _repair(text: str, fault: str) -> list[Message]:
    again = f"That answer cannot be used: {fault}. Answer again, with the whole JSON value and nothing else."
    return [Message("assistant", text[:4000] or "(empty)"), Message("user", again)]
