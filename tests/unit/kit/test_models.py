"""The model client on the wire, against a server that behaves badly on purpose."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firetrial_kit.asking import Call
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.models import (
    Choice,
    Endpoint,
    MalformedAnswer,
    Message,
    ModelClient,
    UpstreamRefused,
    UpstreamUnavailable,
    Usage,
)
from support.scripted_models import Reply, Request, Script, ScriptedModels, answer, raw, status, text

SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
TOOL_CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASK = [Message("system", "You count."), Message("user", "How many?")]


class Sleeps:
    """A clock that moves only by sleeping."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def clock(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


@contextmanager
def scripted(
    script: Script, *, key: str = "sk-very-secret-key", timeout: float = 5.0
) -> Iterator[tuple[ScriptedModels, ModelClient, Sleeps]]:
    with ScriptedModels(script) as models:
        sleeps = Sleeps()
        endpoint = Endpoint(models.base_url, "scripted/one", key, timeout=timeout, patience=60.0)
        yield models, ModelClient(endpoint, clock=sleeps.clock, sleep=sleeps.sleep), sleeps


async def asked(client: ModelClient) -> object:
    try:
        return (await client.ask(ASK, SCHEMA)).value
    finally:
        await client.aclose()


async def test_the_schema_is_sent_and_the_value_and_its_cost_come_back() -> None:
    with scripted([answer({"x": 3})]) as (models, client, _):
        given = await client.ask(ASK, SCHEMA)
        await client.aclose()
    assert given.value == {"x": 3}
    assert given.usage == Usage(calls=1, prompt_tokens=100, completion_tokens=10, cached_tokens=20)
    (request,) = models.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-very-secret-key"
    assert request.body["temperature"] == 0
    assert request.body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert request.body["messages"] == [{"role": m.role, "content": m.content} for m in ASK]


async def test_an_endpoint_without_schemas_is_asked_in_json_mode_then_in_plain_text() -> None:
    def script(request: Request) -> Reply:
        return status(400, "response_format") if request.format != "text" else answer({"x": 1})

    with scripted(script) as (models, client, _):
        assert (await client.ask(ASK, SCHEMA)).value == {"x": 1}
        assert [r.format for r in models.requests] == ["json_schema", "json_object", "text"]
        assert '"required": ["x"]' in models.requests[-1].prompt
        assert await asked(client) == {"x": 1}
        assert len(models.requests) == 4


def strict_fails(code: int, *, from_level: int = 1) -> Script:
    """A server that answers forms stricter than that level with an error, and the others rightly."""
    forms = ["json_schema", "json_object", "text"]
    return lambda r: status(code) if forms.index(r.format) < from_level else answer({"x": 1})


@pytest.mark.parametrize("code", [400, 404, 422, 500, 501])
@pytest.mark.parametrize("from_level", [1, 2])
async def test_a_form_that_a_server_fails_on_is_left_at_once_and_soon_for_good(
    code: int, from_level: int
) -> None:
    with scripted(strict_fails(code, from_level=from_level)) as (models, client, sleeps):
        spent = []
        for _ in range(4):
            before = len(models.requests)
            assert (await client.ask(ASK, SCHEMA)).value == {"x": 1}
            spent.append(len(models.requests) - before)
        await client.aclose()
    looking = from_level + 1
    assert spent == [looking, looking if code == 500 else 1, 1, 1]
    assert sleeps.slept == []


async def test_a_fault_that_passes_lowers_nothing_for_good() -> None:
    replies = [status(500), answer({"x": 1}), answer({"x": 2}), status(500), answer({"x": 3})]
    with scripted(replies) as (models, client, sleeps):
        values = [(await client.ask(ASK, SCHEMA)).value for _ in range(3)]
        await client.aclose()
    assert values == [{"x": 1}, {"x": 2}, {"x": 3}]
    # Once the strict form has worked, a fault is an outage: waited for, and asked again as strictly.
    assert [r.format for r in models.requests] == ["json_schema", "json_object", *["json_schema"] * 3]
    assert len(sleeps.slept) == 1


async def test_faults_that_meet_many_asks_at_once_count_as_one() -> None:
    with scripted(strict_fails(500)) as (models, client, _):
        await asyncio.gather(*(client.ask(ASK, SCHEMA) for _ in range(6)))
        await client.ask(ASK, SCHEMA)
        await client.aclose()
    assert [r.format for r in models.requests[12:]] == ["json_schema", "json_object"]


async def test_a_form_given_up_on_faults_alone_is_tried_again_some_day() -> None:
    broken = True

    def script(request: Request) -> Reply:
        return status(500) if broken and request.format == "json_schema" else answer({"x": 1})

    with scripted(script) as (models, client, _):
        for _ in range(30):
            await client.ask(ASK, SCHEMA)
        assert [r.format for r in models.requests].count("json_schema") == 2
        broken = False
        for _ in range(10):
            await client.ask(ASK, SCHEMA)
        await client.aclose()
    assert {r.format for r in models.requests[-5:]} == {"json_schema"}


async def test_a_form_that_works_is_kept_whatever_one_answer_says() -> None:
    replies = [answer({"x": 1}), status(400), answer({"x": 2}), answer({"x": 3})]
    with scripted(replies) as (models, client, _):
        for _ in range(3):
            await client.ask(ASK, SCHEMA)
        await client.aclose()
    assert [r.format for r in models.requests] == ["json_schema", "json_schema", "json_object", "json_schema"]


async def test_forms_are_known_by_schema() -> None:
    other = {"type": "object", "properties": {"y": {"type": "integer"}}, "required": ["y"]}

    def script(request: Request) -> Reply:
        of_other = '"y"' in json.dumps(request.body.get("response_format", {}))
        return status(500, "failed to parse grammar") if of_other else answer({"x": 1, "y": 2})

    with scripted(script) as (models, client, _):
        for _ in range(3):
            await client.ask(ASK, SCHEMA, accept={"type": "object"})
            await client.ask(ASK, other, name="other")
        await client.aclose()
    names = [r.body["response_format"].get("json_schema", {}).get("name") for r in models.requests]
    assert names == ["answer", "other", None, "answer", "other", None, "answer", None]


WRONG = [
    *(status(code) for code in (400, 404, 422, 429, 500, 501, 503)),
    text('{"x": "seven"}'),
    text('{"x": 8} or {"x": 9}'),
    text(""),
    text('{"x": 8', finish="length"),
    answer({"x": 8, "y": 1}),
    raw(b"<html>8</html>", content_type="text/html"),
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*WRONG, answer({"x": 7})]), max_size=9), min_size=1, max_size=4))
def test_whatever_a_server_does_no_value_is_wrong_and_an_outage_ends(asks: list[list[Reply]]) -> None:
    waiting: list[Reply] = []

    async def every() -> None:
        with scripted(lambda _: waiting.pop(0) if waiting else answer({"x": 7})) as (models, client, sleeps):
            for replies in asks:
                waiting[:] = replies
                began = sleeps.clock()
                with suppress(UpstreamRefused, UpstreamUnavailable, MalformedAnswer):
                    assert (await client.ask(ASK, SCHEMA)).value == {"x": 7}
                assert sleeps.clock() - began <= 60
            assert len(models.requests) <= sum(map(len, asks)) + len(asks)
            await client.aclose()

    asyncio.run(every())


async def test_a_model_that_takes_no_temperature_is_asked_without_one() -> None:
    def script(request: Request) -> Reply:
        if "temperature" in request.body:
            return status(400, "Unsupported value: 'temperature'")
        return answer({"x": 1})

    with scripted(script) as (models, client, _):
        assert await asked(client) == {"x": 1}
    assert [r.format for r in models.requests] == ["json_schema", "json_schema"]


@pytest.mark.parametrize(
    "written",
    [
        '```json\n{"x": 5}\n```',
        'Sure! Here it is:\n{"x": 5}\nAnything else?',
        '{"x": 5,}',
        '  {"x": 5}\n\n',
        'First {"x": 5}, as I said {"x": 5}.',
    ],
)
async def test_a_value_is_found_in_what_models_write_around_it(written: str) -> None:
    with scripted([text(written)]) as (models, client, _):
        assert await asked(client) == {"x": 5}
    assert len(models.requests) == 1


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (text('{"x": "five"}'), "at x: 'five' is not of type 'integer'"),
        (text('{"y": 5}'), "'x' is a required property"),
        (text('{"x": 5, "z": 1}'), "Additional properties"),
        (text("five"), "not valid JSON"),
        (text('{"x": 5'), "not valid JSON"),
        (text('{"x": NaN}'), "not valid JSON"),
        (text('{"x": 1, "x": 2}'), "not valid JSON"),
        (text('{"x": 1, "x": {"x": 5}}'), "not valid JSON"),
        (text('{"x": 1} or maybe {"x": 2}'), "several different"),
        (text(""), "empty"),
        (text(None, tool_calls=[TOOL_CALL]), "empty"),
        (text(None, refusal="I cannot."), "declined"),
        (text('{"x": 5}', finish="length"), "cut off"),
        (raw(b'{"object": "chat.completion", "choices": []}'), "no message"),
    ],
)  # fmt: skip
async def test_a_malformed_answer_is_asked_for_again_with_the_fault_named(wrong: Reply, named: str) -> None:
    with scripted([wrong, answer({"x": 7})]) as (models, client, sleeps):
        assert await asked(client) == {"x": 7}
    assert named in models.requests[1].prompt
    assert sleeps.slept == []


async def test_an_answer_that_never_fits_ends_after_the_repairs_and_says_what_it_cost() -> None:
    with (
        scripted([text("no")]) as (models, client, _),
        pytest.raises(MalformedAnswer, match="not valid JSON") as caught,
    ):
        await asked(client)
    assert len(models.requests) == 3
    assert caught.value.usage.calls == 3
    assert caught.value.reason is Reason.CORRUPT
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "failure",
    [
        status(503),
        status(429),
        status(408),
        answer({"x": 1}).cut(20),
        raw(b'{"id": "x", "choi'),
        raw(b"<html>Bad gateway</html>", content_type="text/html"),
        raw(b"<html>Bad gateway</html>", status=502, content_type="text/html"),
    ],
)
async def test_a_failing_endpoint_is_tried_again(failure: Reply) -> None:
    with scripted([failure, failure, answer({"x": 2})]) as (models, client, sleeps):
        assert await asked(client) == {"x": 2}
    assert len(models.requests) == 3
    assert 0.3 < sleeps.slept[0] < 0.7 < sleeps.slept[1] < 1.3


async def test_the_server_s_hint_decides_how_long_is_waited() -> None:
    with scripted([status(429, retry_after=7), answer({"x": 2})]) as (_, client, sleeps):
        assert await asked(client) == {"x": 2}
    assert sleeps.slept == [7.0]


async def test_a_hint_beyond_the_patience_ends_at_once_and_is_passed_on() -> None:
    with (
        scripted([status(429, retry_after=3600)]) as (models, client, sleeps),
        pytest.raises(UpstreamUnavailable) as caught,
    ):
        await asked(client)
    assert (caught.value.retry_after, caught.value.retryable) == (3600.0, True)
    assert (len(models.requests), sleeps.slept) == (1, [])


async def test_an_endpoint_that_stays_down_ends_within_the_patience() -> None:
    with (
        scripted([status(500)]) as (models, client, sleeps),
        pytest.raises(UpstreamUnavailable, match="did not answer"),
    ):
        await asked(client)
    assert sum(sleeps.slept) < 60
    assert 15 < len(models.requests) < 36  # each try in all three forms


async def test_nobody_listening_is_unavailable() -> None:
    with scripted([]) as (_, client, sleeps):
        pass
    with pytest.raises(UpstreamUnavailable):
        await asked(client)
    assert sleeps.slept


async def test_a_slow_answer_is_given_up_and_asked_again() -> None:
    with scripted([answer({"x": 1}).after(0.6), answer({"x": 2})], timeout=0.2) as (models, client, _):
        assert await asked(client) == {"x": 2}
    assert len(models.requests) == 2


@pytest.mark.parametrize(("code", "requests"), [(401, 1), (403, 1), (404, 3)])
async def test_a_refusal_is_not_tried_again_and_never_tells_the_key(code: int, requests: int) -> None:
    with (
        scripted([status(code, "Incorrect API key provided: sk-very-secret-key or sk-ve***key")]) as (
            models,
            client,
            _,
        ),
        pytest.raises(UpstreamRefused) as caught,
    ):
        await asked(client)
    assert len(models.requests) == requests  # a 404 may mean the form
    assert "secret" not in str(caught.value)
    assert "sk-ve" not in str(caught.value)
    assert f"{code}" in str(caught.value)
    assert not caught.value.retryable


async def test_a_request_refused_in_every_form_is_a_refusal() -> None:
    with (
        scripted([status(400, "context length exceeded")]) as (models, client, _),
        pytest.raises(UpstreamRefused, match="context length"),
    ):
        await asked(client)
    assert len(models.requests) == 3


async def test_what_is_accepted_can_be_wider_than_what_is_asked_for() -> None:
    with scripted([answer({"x": "many"})]) as (models, client, _):
        given = await client.ask(ASK, SCHEMA, accept={"type": "object"})
        await client.aclose()
    assert given.value == {"x": "many"}
    assert models.requests[0].body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_key_is_not_shown() -> None:
    assert "secret" not in repr(Endpoint("http://127.0.0.1/v1", "m", "sk-secret"))


def told(*tokens: tuple[str, object]) -> Reply:
    """A completion of one token with these alternatives."""
    top = [{"token": token, "logprob": logprob} for token, logprob in tokens]
    choice = {"index": 0, "message": {"content": "x"}, "finish_reason": "length"}
    weighed = {**choice, "logprobs": {"content": [{"token": "x", "logprob": -0.1, "top_logprobs": top}]}}
    return raw(
        json.dumps({"choices": [weighed], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}).encode()
    )


async def chosen(client: ModelClient) -> Choice:
    try:
        return await client.choose(ASK, ["Yes", "No"])
    finally:
        await client.aclose()


async def test_a_choice_is_read_off_the_first_token_and_its_spellings_count_together() -> None:
    reply = told(
        (" yes", math.log(0.5)), ("Y", math.log(0.2)), ("NO", math.log(0.25)), ("", -0.1), ("Say", -3)
    )
    with scripted([reply]) as (models, client, _):
        choice = await chosen(client)
    assert choice.chances == pytest.approx({"Yes": 0.7, "No": 0.25})
    assert choice.usage == Usage(1, 9, 1)
    body = models.requests[0].body
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    assert "response_format" not in body


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (text("Yes"), "tells no logprobs"),
        (told(("Perhaps", -0.1)), "would answer none of Yes, No"),
        (told(("Yes", float("nan"))), "tells no logprobs"),
        (told(("Yes", "often")), "tells no logprobs"),
        (told(("Yes", 3.0)), "tells no logprobs"),
    ],
)
async def test_what_is_no_choice_is_malformed_never_a_guess(reply: Reply, fault: str) -> None:
    with scripted([reply]) as (models, client, _), pytest.raises(MalformedAnswer, match=fault) as caught:
        await chosen(client)
    assert caught.value.usage.calls == 1
    assert len(models.requests) == 1


async def test_an_endpoint_that_refuses_log_probabilities_says_so() -> None:
    with (
        scripted([status(400, "logprobs is not supported")]) as (_, client, _),
        pytest.raises(UpstreamRefused, match="logprobs is not supported"),
    ):
        await chosen(client)


async def test_each_request_is_told_with_what_it_was_for_and_one_refused_by_its_budget_is_not_sent() -> None:
    told: list[Call] = []

    class Purse:
        async def reserve(self, prompt_bytes: int) -> str:
            raise FiretrialError(Reason.PRECONDITION, "no room is left")

        async def settle(self, request: str, usage: Usage) -> None:
            raise AssertionError("nothing was reserved")

    with ScriptedModels(lambda _: answer({"x": 1})) as models:
        client = ModelClient(Endpoint(models.base_url, "m"), observe=told.append)
        await client.ask(ASK, SCHEMA, name="counting")
        with pytest.raises(FiretrialError, match="no room"):
            await client.ask(ASK, SCHEMA, name="counting", meter=Purse())
        await client.aclose()
        assert len(models.requests) == 1
        assert "traceparent" not in models.requests[0].headers
    assert [(call.purpose, call.answered, call.refused) for call in told] == [
        ("counting", True, False),
        ("counting", False, True),
    ]
