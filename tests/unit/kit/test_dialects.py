"""Anthropic's messages on the wire, and what dialects have in common: meters, pace, silence about keys."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.models import (
    Call,
    Endpoint,
    MalformedAnswer,
    Message,
    ModelClient,
    UpstreamRefused,
    Usage,
)
from support.scripted_models import Reply, Script, ScriptedModels, answer, raw, status

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
ASK = [Message("system", "You count."), Message("user", "How many?")]
KEY = "sk-ant-very-secret"


def message(*content: dict[str, Any], stop: str = "tool_use") -> Reply:
    """A message as Anthropic sends it: 100 prompt tokens, of which 20 cached, and 10 more."""
    usage = {"input_tokens": 70, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 10}
    body = {"content": list(content), "stop_reason": stop, "usage": {**usage, "output_tokens": 10}}
    return raw(json.dumps({"id": "msg_1", "type": "message", "role": "assistant", **body}).encode())


def tool(value: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": value}


@asynccontextmanager
async def anthropic(script: Script, **options: Any) -> AsyncIterator[tuple[ModelClient, ScriptedModels]]:
    with ScriptedModels(script) as models:
        endpoint = Endpoint(models.base_url, "claude", KEY, dialect="anthropic", timeout=5, patience=5)
        client = ModelClient(endpoint, **options)
        try:
            yield client, models
        finally:
            await client.aclose()


async def test_the_answer_is_a_forced_call_of_a_tool_with_the_schema() -> None:
    async with anthropic([message(tool({"x": 3}))]) as (client, models):
        given = await client.ask(ASK, SCHEMA, name="answer")
    assert (given.value, given.usage) == ({"x": 3}, Usage(1, 100, 10, 20))
    (request,) = models.requests
    assert request.path == "/v1/messages"
    assert (request.headers["x-api-key"], "authorization" in request.headers) == (KEY, False)
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.body["system"] == "You count."
    assert request.body["messages"] == [{"role": "user", "content": "How many?"}]
    assert request.body["tools"] == [{"name": "answer", "input_schema": SCHEMA}]
    assert request.body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert (request.body["temperature"], request.body["max_tokens"] > 0) == (0, True)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (message(tool({"x": "three"})), "at x: 'three' is not of type 'integer'"),
        (message(tool({"y": 3})), "'x' is a required property"),
        (message(tool({"x": 3}), stop="max_tokens"), "cut off"),
        (message({"type": "text", "text": "No."}, stop="refusal"), "declined"),
        (message({"type": "text", "text": "Three."}, stop="end_turn"), "not valid JSON"),
        (message(tool({"x": 3}), tool({"x": 4})), "several answers"),
        (message(stop="end_turn"), "empty"),
        (raw(b'{"content": [{"type": "tool_use", "input": {"x": NaN}}]}'), "not valid JSON"),
    ],
)
async def test_a_malformed_message_is_asked_for_again(wrong: Reply, told: str) -> None:
    async with anthropic([wrong, message(tool({"x": 7}))]) as (client, models):
        assert (await client.ask(ASK, SCHEMA)).value == {"x": 7}
    again = models.requests[1].body["messages"]
    assert told in again[-1]["content"]
    assert [m["role"] for m in again] == ["user", "assistant", "user"]


async def test_a_server_without_tools_is_asked_in_plain_text() -> None:
    def script(request: Any) -> Reply:
        if "tools" in request.body:
            return status(400, "tools are not supported")
        return message({"type": "text", "text": '```json\n{"x": 1}\n```'}, stop="end_turn")

    async with anthropic(script) as (client, models):
        assert (await client.ask(ASK, SCHEMA)).value == {"x": 1}
        assert (await client.ask(ASK, SCHEMA)).value == {"x": 1}
    assert ["tools" in r.body for r in models.requests] == [True, False, False]


async def test_an_overloaded_server_slows_the_pace_and_is_tried_again() -> None:
    async with anthropic([status(529), status(429, retry_after=0.05), message(tool({"x": 1}))]) as (
        client,
        _,
    ):
        assert (await client.ask(ASK, SCHEMA)).value == {"x": 1}
        assert client.pace.limit < 8


@pytest.mark.parametrize("body", [b"[]", b'{"type": "message"}', b'"hello"', b"<html>"])
async def test_a_body_that_is_no_message_is_tried_again(body: bytes) -> None:
    async with anthropic([raw(body), message(tool({"x": 1}))]) as (client, models):
        assert (await client.ask(ASK, SCHEMA)).value == {"x": 1}
    assert len(models.requests) == 2


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_the_key_is_in_no_log_and_in_no_error(dialect: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told = [status(500), status(401, f"Incorrect API key provided: {KEY}")]
    with ScriptedModels(told) as models:
        client = ModelClient(Endpoint(models.base_url, "m", KEY, dialect=dialect, patience=5))
        with pytest.raises(UpstreamRefused) as caught:
            await client.ask(ASK, SCHEMA)
        await client.aclose()
    assert KEY in str(models.requests[0].headers)
    assert caplog.records
    assert "very-secret" not in caplog.text + str(caught.value) + repr(client.endpoint)


class Meter:
    """Notes what it is told; refuses after `most` requests."""

    def __init__(self, most: int = 99) -> None:
        self.most = most
        self.reserved: list[int] = []
        self.settled: list[tuple[str, Usage]] = []

    async def reserve(self, prompt_bytes: int) -> str:
        if len(self.reserved) >= self.most:
            raise FiretrialError(Reason.PRECONDITION, "no money left")
        self.reserved.append(prompt_bytes)
        return f"r{len(self.reserved)}"

    async def settle(self, request: str, usage: Usage) -> None:
        self.settled.append((request, usage))


async def test_each_request_is_reserved_before_and_settled_after_also_those_that_fail() -> None:
    meter, calls = Meter(), list[Call]()
    script = [status(500), answer({"y": 1}), answer({"x": 1})]
    with ScriptedModels(script) as models:
        client = ModelClient(Endpoint(models.base_url, "m", patience=5), observe=calls.append)
        await client.ask(ASK, SCHEMA, meter=meter)
        await client.aclose()
    assert meter.reserved[:2] == [19, 19]
    assert meter.reserved[2] > 19
    paid = Usage(1, 100, 10, 20)
    assert meter.settled == [("r1", Usage()), ("r2", paid), ("r3", paid)]
    assert [(c.model, c.answered, c.usage.calls) for c in calls] == [
        ("m", False, 0),
        ("m", True, 1),
        ("m", True, 1),
    ]


async def test_a_request_that_may_not_be_paid_for_is_not_sent() -> None:
    with ScriptedModels([answer({"y": 1})]) as models:
        client = ModelClient(Endpoint(models.base_url, "m", patience=5))
        with pytest.raises(FiretrialError, match="no money left"):
            await client.ask(ASK, SCHEMA, meter=Meter(most=1))
        await client.aclose()
    assert len(models.requests) == 1


async def test_a_cancelled_request_is_settled() -> None:
    meter = Meter()
    with ScriptedModels([answer({"x": 1}).after(5)]) as models:
        client = ModelClient(Endpoint(models.base_url, "m"))
        asking = asyncio.create_task(client.ask(ASK, SCHEMA, meter=meter))
        while not models.requests:
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert client.pace.limit == 8
        await client.aclose()
    assert meter.settled == [("r1", Usage())]


async def test_a_model_that_never_fits_says_what_it_cost() -> None:
    async with anthropic([message(tool({"y": 1}))]) as (client, _):
        with pytest.raises(MalformedAnswer) as caught:
            await client.ask(ASK, SCHEMA)
    assert caught.value.usage == Usage(3, 300, 30, 60)
