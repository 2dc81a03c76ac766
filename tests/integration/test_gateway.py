"""The model gateway before scripted upstreams: what goes through, what does not, and what it costs."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from firetrial_runner.allowance import ModelCaps
from firetrial_runner.gateway.upstream import Dialect
from firetrial_runner.run import RunUsage
from support import scripted_models as scripted
from support.gateways import KEY, gateway, upstream
from support.scripted_models import ScriptedModels

_USAGE = RunUsage(1.0, None, None, 0, 0)
LONG = "a prompt of the hundred tokens that the scripted usage has " * 4


class _Clock:
    """A run's clock that tells for how long it stood."""

    def __init__(self) -> None:
        self.holds = 0
        self.stood = 0.0
        self._since = 0.0

    def pause(self) -> None:
        if not self.holds:
            self._since = time.monotonic()
        self.holds += 1

    def resume(self) -> None:
        self.holds -= 1
        if not self.holds:
            self.stood += time.monotonic() - self._since


async def test_a_chat_completion_goes_through_with_the_real_key() -> None:
    with ScriptedModels([scripted.text("four")]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            answer = await rig.chat("2 + 2?")
            assert answer.json()["choices"][0]["message"]["content"] == "four"
            assert models.requests[0].headers["authorization"] == f"Bearer {KEY}"
            assert rig.door.session.token not in str(models.requests[0])
            (step,) = await rig.settled()
    assert step["name"] == "small"
    assert step["tokens"] == {"prompt": 100, "completion": 10, "cached": 20}
    assert step["cost_usd"] == pytest.approx((80 * 1.0 + 20 * 0.5 + 10 * 10.0) / 1e6)
    assert step["latency_s"] > 0
    assert "2 + 2?" in step["request"]
    assert "four" in step["answer"]


@pytest.mark.parametrize("asked", [True, False])
async def test_the_usage_at_the_end_of_a_stream_is_asked_for_and_hidden_from_who_did_not_ask(
    asked: bool,
) -> None:
    with ScriptedModels([scripted.text_stream("one two three")]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            options: dict[str, Any] = {"stream_options": {"include_usage": True}} if asked else {}
            answer = await rig.chat(stream=True, **options)
            assert models.requests[0].body["stream_options"] == {"include_usage": True}
            (step,) = await rig.settled()
    events = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    said = [json.loads(event) for event in events[:-1]]
    assert any(chunk.get("usage") for chunk in said) is asked
    assert step["tokens"] == {"prompt": 100, "completion": 10, "cached": 20}
    assert step["answer"] == "one two three"
    assert step["streamed"]


async def test_every_endpoint_of_both_vendors() -> None:
    with (
        ScriptedModels(
            [scripted.response("r"), scripted.response_stream("r s"), scripted.embeddings(2)]
        ) as openai,
        ScriptedModels(
            [scripted.message("m"), scripted.message_stream("m n"), scripted.raw(b'{"input_tokens": 7}')]
        ) as anthropic,
    ):
        upstreams = upstream(openai.base_url), upstream(anthropic.base_url, Dialect.ANTHROPIC)
        async with gateway(*upstreams) as rig:
            ask = {"model": "small", "input": "hello"}
            assert (await rig.client.post("/v1/responses", json=ask)).json()["status"] == "completed"
            assert (
                "response.completed"
                in (await rig.client.post("/v1/responses", json={**ask, "stream": True})).text
            )
            assert len((await rig.client.post("/v1/embeddings", json=ask)).json()["data"]) == 2
            said = {"model": "claude", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
            headers = {
                "x-api-key": rig.door.session.token,
                "authorization": "",
                "anthropic-version": "2023-06-01",
            }

            async def post(path: str, **more: Any) -> httpx.Response:
                return await rig.client.post(path, json={**said, **more}, headers=headers)

            assert (await post("/v1/messages?beta=true")).json()["content"][0]["text"] == "m"
            assert "message_stop" in (await post("/v1/messages", stream=True)).text
            assert (await post("/v1/messages/count_tokens")).json() == {"input_tokens": 7}
            assert all(request.body.get("store") is False for request in openai.requests[:2])
            assert all(request.headers["x-api-key"] == KEY for request in anthropic.requests)
            assert [request.path for request in anthropic.requests] == [
                "/v1/messages",
                "/v1/messages",
                "/v1/messages/count_tokens",
            ]
            steps = await rig.settled()
    assert [step["tokens"]["prompt"] for step in steps] == [100, 100, 10, 100, 100, 0]
    assert [step["tokens"]["cached"] for step in steps] == [20, 20, 0, 20, 20, 0]
    assert (
        steps[3]["cost_usd"]
        == steps[4]["cost_usd"]
        == pytest.approx((70 * 3.0 + 20 * 0.3 + 10 * 3.75 + 10 * 15.0) / 1e6)
    )


async def test_models_are_those_of_the_settings() -> None:
    async with gateway(upstream("http://127.0.0.1:9/v1")) as rig:
        told = (await rig.client.get("/v1/models")).json()
        assert [model["id"] for model in told["data"]] == ["small", "free"]
        assert (await rig.client.get("/v1/models/gpt-9")).json()["id"] == "gpt-9"
        assert (await rig.client.get("/v1/models/claude")).status_code == 404
        none = await rig.client.get("/v1/models", headers={"authorization": "Bearer wrong"})
        assert none.status_code == 401


async def test_the_cap_of_calls_holds_under_200_callers() -> None:
    with ScriptedModels(lambda _: scripted.text("yes").after(0.02)) as models:
        async with gateway(upstream(models.base_url), caps=ModelCaps(calls={"small": 37})) as rig:
            answers = await asyncio.gather(*(rig.chat() for _ in range(200)))
            assert len(models.requests) == 37
            assert sorted({answer.status_code for answer in answers}) == [200, 429]
            assert sum(answer.status_code == 200 for answer in answers) == 37
            error = next(answer for answer in answers if answer.status_code == 429).json()["error"]
            assert error["type"] == error["code"] == "insufficient_quota"
            assert rig.door.session.trouble().over_budget
            assert not rig.door.session.trouble().down


async def test_a_star_speaks_for_each_model_that_is_not_named() -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with gateway(upstream(models.base_url), caps=ModelCaps(calls={"*": 1, "small": 2})) as rig:
            asked = ["small", "free", "gpt-1", "small", "small", "free", "gpt-2"]
            got = [(await rig.chat(model=model)).status_code for model in asked]
    assert got == [200, 200, 200, 200, 429, 429, 200]


async def test_a_call_that_came_to_nothing_leaves_its_place_to_one_that_waits() -> None:
    replies = [scripted.status(400).after(0.3), scripted.text("yes")]
    with ScriptedModels(replies) as models:
        async with gateway(upstream(models.base_url), caps=ModelCaps(calls={"small": 1})) as rig:
            first = asyncio.create_task(rig.chat())
            await asyncio.sleep(0.1)
            second = await rig.chat()
            assert ((await first).status_code, second.status_code) == (400, 200)
            assert (await rig.chat()).status_code == 429
            assert rig.door.session.used(_USAGE).model_calls == 1
    assert len(models.requests) == 2


async def test_tokens_and_usd_are_capped_and_answers_held_to_what_is_left() -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with gateway(upstream(models.base_url), caps=ModelCaps(tokens=400)) as rig:
            got = [(await rig.chat(LONG, max_tokens=1000)).status_code for _ in range(5)]
            limits = [request.body["max_tokens"] for request in models.requests]
            used = rig.door.session.used(_USAGE)
    assert got == [200, 200, 200, 429, 429]
    assert limits == sorted(limits, reverse=True)
    assert limits[0] < 400
    assert used.tokens == 330
    with ScriptedModels([scripted.text("yes")]) as models:
        # 0.00019 USD a call.
        async with gateway(upstream(models.base_url), caps=ModelCaps(cost_usd=0.0006)) as rig:
            got = [(await rig.chat(LONG)).status_code for _ in range(6)]
            used = rig.door.session.used(_USAGE)
            assert "max_completion_tokens" in models.requests[0].body
    assert got[-1] == 429
    assert got.count(200) in {2, 3}
    assert used.cost_usd is not None
    assert used.cost_usd <= 0.0006


async def test_concurrent_calls_never_pass_a_cap_in_usd() -> None:
    with ScriptedModels(lambda _: scripted.text("yes").after(0.01)) as models:
        async with gateway(upstream(models.base_url), caps=ModelCaps(cost_usd=0.004)) as rig:
            answers = await asyncio.gather(*(rig.chat(LONG, max_tokens=20) for _ in range(60)))
            used = rig.door.session.used(_USAGE)
    assert used.cost_usd is not None
    assert 0.0035 < used.cost_usd <= 0.004
    assert sum(answer.status_code == 200 for answer in answers) == len(models.requests)


async def test_an_unknown_price_is_unknown_and_never_zero() -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            await rig.chat(model="free")
            await rig.chat(model="small")
            used = rig.door.session.used(_USAGE)
            assert (used.cost_usd, used.unpriced_calls, used.model_calls) == (None, 1, 2)
            assert used.tokens == 220
        async with gateway(upstream(models.base_url), refuse_unpriced=True) as rig:
            assert (await rig.chat(model="free")).status_code == 403
            assert (await rig.chat(model="small")).status_code == 200
        async with gateway(upstream(models.base_url), caps=ModelCaps(cost_usd=1.0)) as rig:
            refused = await rig.chat(model="free")
            assert refused.status_code == 403
            assert "unknown" in refused.json()["error"]["message"]
            trouble = rig.door.session.trouble()
            assert (bool(trouble.down), trouble.lasting, trouble.over_budget) == (True, True, "")
        async with gateway(upstream(models.base_url, provider="openai")) as rig:
            await rig.chat(model="gpt-4o")
            assert rig.door.session.used(_USAGE).cost_usd == pytest.approx(0.000325)


async def test_an_agent_that_hangs_up_is_charged_for_what_it_asked() -> None:
    with ScriptedModels([scripted.text_stream("a b c d e f", pause=0.05)]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            body = {"model": "small", "messages": [], "stream": True}
            async with rig.client.stream("POST", "/v1/chat/completions", json=body) as answer:
                await anext(answer.aiter_raw())
            (step,) = await rig.settled()
            used = rig.door.session.used(_USAGE)
    assert step["tokens"] == {"prompt": 100, "completion": 10, "cached": 20}
    assert used.cost_usd == pytest.approx(0.00019)


@pytest.mark.parametrize("streamed", [True, False])
async def test_an_answer_that_breaks_off_is_counted_as_what_was_set_aside(streamed: bool) -> None:
    reply = scripted.text_stream("a b c").cut(2) if streamed else scripted.text("abc").cut(40)
    with ScriptedModels([reply, scripted.text("yes")]) as models:
        async with gateway(upstream(models.base_url), caps=ModelCaps(tokens=1000)) as rig:
            with pytest.raises(httpx.HTTPError):
                (await rig.chat(stream=streamed, max_tokens=600)).raise_for_status()
            assert (await rig.chat(max_tokens=600)).status_code == 200
            assert models.requests[1].body["max_tokens"] < 400
            steps = await rig.settled()
            used = rig.door.session.used(_USAGE)
    assert "broke off" in steps[0]["fault"]
    assert "tokens" not in steps[0]
    assert (used.tokens, used.cost_usd, used.unpriced_calls) == (None, None, 1)


async def test_refusals_of_a_busy_upstream_are_waited_for_and_not_charged() -> None:
    replies = [scripted.status(429, retry_after=0.3), scripted.status(503), scripted.text("yes")]
    with ScriptedModels(replies) as models:
        async with gateway(upstream(models.base_url)) as rig:
            clock = _Clock()
            rig.door.session.run_clock = clock
            begun = time.monotonic()
            assert (await rig.chat()).status_code == 200
            took = time.monotonic() - begun
            (step,) = await rig.settled()
            used = rig.door.session.used(_USAGE)
    assert took >= 0.3 + 0.375
    assert step["attempts"] == 3
    assert clock.stood >= 0.3 + 0.7
    assert not clock.holds
    assert (used.model_calls, used.tokens) == (1, 110)


async def test_an_upstream_that_is_down_for_good_is_ours_until_it_answers() -> None:
    with ScriptedModels([scripted.status(500), scripted.text("yes")]) as models:
        async with gateway(upstream(models.base_url, patience_s=0.2)) as rig:
            refused = await rig.chat()
            assert refused.status_code == 503
            assert refused.headers["x-should-retry"] == "false"
            trouble = rig.door.session.trouble()
            assert "500" in trouble.down
            assert (trouble.lasting, trouble.over_budget) == (False, "")
            assert (await rig.chat()).status_code == 200
            assert not rig.door.session.trouble().down
            by = {"upstream": "openai", "model": "small", "endpoint": "chat/completions"}
            assert [rig.metric("requests_total", **by, status=code) for code in ("503", "200")] == [1, 1]
    async with gateway(upstream("http://127.0.0.1:9/v1", patience_s=0.1)) as rig:
        assert (await rig.chat()).status_code == 503
        assert "cannot be reached" in rig.door.session.trouble().down


@pytest.mark.parametrize("code", [401, 403])
async def test_a_refused_key_is_ours_and_what_is_said_of_it_is_kept_from_the_agent(code: int) -> None:
    with ScriptedModels([scripted.status(code, f"Incorrect API key provided: {KEY[:6]}***cdef")]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            refused = await rig.chat()
            assert refused.status_code == 503
            assert KEY[:6] not in refused.text
            assert rig.door.session.trouble().lasting


async def test_an_upstream_whose_own_account_is_empty_is_not_the_agents_budget() -> None:
    reply = scripted.raw(
        b'{"error": {"type": "insufficient_quota", "code": "insufficient_quota"}}', status=429
    )
    with ScriptedModels([reply]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            assert (await rig.chat()).status_code == 503
            assert len(models.requests) == 1
            trouble = rig.door.session.trouble()
            assert (bool(trouble.down), trouble.lasting, trouble.over_budget) == (True, True, "")


async def test_errors_of_the_request_go_back_as_they_are_and_cost_nothing() -> None:
    with ScriptedModels([scripted.status(400, "no such parameter")]) as models:
        async with gateway(upstream(models.base_url), caps=ModelCaps(calls={"*": 1})) as rig:
            for _ in range(2):
                answer = await rig.chat()
                assert (answer.status_code, answer.json()["error"]["message"]) == (400, "no such parameter")
            assert rig.door.session.used(_USAGE).cost_usd == 0.0


async def test_a_key_that_an_upstream_echoes_is_masked_wherever_it_goes() -> None:
    def echo(request: scripted.Request) -> scripted.Reply:
        said = f"you sent {request.headers['authorization']}"
        if request.body.get("stream"):
            return scripted.text_stream(said)
        if request.body["messages"][0]["content"] == "fail":
            return scripted.status(400, said)
        return scripted.text(said)

    with ScriptedModels(echo) as models:
        async with gateway(upstream(models.base_url)) as rig:
            got = [await rig.chat(), await rig.chat("fail"), await rig.chat(stream=True)]
            assert all(KEY not in answer.text and "[masked]" in answer.text for answer in got)
            assert all(KEY not in str(answer.headers) for answer in got)
            steps = await rig.settled()
    assert len(steps) == 3
    assert KEY not in json.dumps(steps)


async def test_a_long_answer_goes_through_in_pieces() -> None:
    with ScriptedModels([scripted.embeddings(20_000, 100)]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            answer = await rig.client.post("/v1/embeddings", json={"model": "small", "input": "x"})
            assert len(answer.content) > 8_000_000
            assert len(answer.json()["data"]) == 20_000
            (step,) = await rig.settled()
    assert step["tokens"]["prompt"] == 10
    assert step["answer_bytes"] == len(answer.content)
    assert len(step["answer"]) < 20_000


_REFUSED: list[tuple[str, dict[str, Any], int]] = [
    ("chat/completions", {"n": 5}, 403),
    ("chat/completions", {"store": True}, 403),
    ("chat/completions", {"web_search_options": {}}, 200),
    ("chat/completions", {"web_search_options": {"search_context_size": "low"}}, 403),
    ("chat/completions", {"tools": [{"type": "web_search"}]}, 403),
    ("chat/completions", {"tools": [{"type": "function", "function": {"name": "f"}}]}, 200),
    ("chat/completions", {"service_tier": "priority"}, 403),
    ("chat/completions", {"model": "gpt-4o-search-preview"}, 403),
    ("chat/completions", {"model": "other"}, 404),
    ("chat/completions", {"model": 7}, 400),
    (
        "chat/completions",
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/y"}}]}
            ]
        },
        403,
    ),
    (
        "chat/completions",
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]},
        403,
    ),
    ("responses", {"tools": [{"type": "mcp", "server_url": "http://x"}]}, 403),
    ("responses", {"tools": [{"type": "file_search"}]}, 403),
    ("responses", {"tools": [{"type": "computer_use_preview"}]}, 403),
    ("responses", {"tools": [{"type": "code_interpreter"}]}, 403),
    ("responses", {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}, 403),
    ("responses", {"tools": [{"type": "local_shell"}, {"type": "custom", "name": "c"}]}, 200),
    ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "function", "name": "f"}]}]}, 200),
    ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "web_search"}]}]}, 403),
    ("responses", {"tools": [{"type": "namespace", "tools": "web_search"}]}, 403),
    ("responses", {"background": True}, 403),
    ("responses", {"previous_response_id": "resp_0"}, 403),
    ("responses", {"store": True}, 403),
    (
        "responses",
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "http://x"}]}]},
        403,
    ),
    ("files", {}, 404),
    ("images/generations", {}, 404),
    ("batches", {}, 404),
    ("../v1/models", {}, 405),
]


@pytest.mark.parametrize(("path", "more", "status"), _REFUSED)
async def test_what_is_not_on_the_list_is_refused(path: str, more: dict[str, Any], status: int) -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            body = {"model": "small", "messages": [], "input": "x", **more}
            answer = await rig.client.post(f"/v1/{path}", json=body)
            expected = 404 if status == 405 else status
            assert answer.status_code == expected
            assert len(models.requests) == (expected == 200)
            if expected != 200:
                assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
        {"mcp_servers": [{"type": "url", "url": "http://x"}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "x"}}]}
            ]
        },
        {
            "messages": [
                {"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}
            ]
        },
    ],
)
async def test_ways_out_through_anthropic_are_refused_in_its_own_shape(more: dict[str, Any]) -> None:
    with ScriptedModels([scripted.message("yes")]) as models:
        async with gateway(upstream(models.base_url, Dialect.ANTHROPIC)) as rig:
            body = {"model": "claude", "max_tokens": 10, "messages": [], **more}
            answer = await rig.client.post("/v1/messages", json=body)
            assert answer.status_code == 403
            assert answer.json()["type"] == "error"
            assert answer.json()["error"]["type"] == "permission_error"
            own = [{"type": "bash_20250124", "name": "bash"}, {"name": "mine", "input_schema": {}}]
            used = {"type": "tool_use", "id": "t", "name": "mine", "input": {"source": {"type": "url"}}}
            body = {**body, "tools": own, "messages": [{"role": "assistant", "content": [used]}]}
            body.pop("mcp_servers", None)
            assert (await rig.client.post("/v1/messages", json=body)).status_code == 200
    assert len(models.requests) == 1


async def test_a_budget_refused_by_anthropics_shape() -> None:
    with ScriptedModels([scripted.message("yes")]) as models:
        async with gateway(
            upstream(models.base_url, Dialect.ANTHROPIC), caps=ModelCaps(calls={"*": 0})
        ) as rig:
            body = {"model": "claude", "max_tokens": 10, "messages": []}
            answer = await rig.client.post("/v1/messages", json=body)
            assert (answer.status_code, answer.json()["error"]["type"]) == (402, "billing_error")


async def test_no_token_but_the_runs_own_and_none_once_the_run_is_over() -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with gateway(upstream(models.base_url)) as rig, gateway(upstream(models.base_url)) as other:
            for token in ("", "Bearer", "Bearer x", f"Basic {rig.door.session.token}", KEY):
                answer = await rig.client.post(
                    "/v1/chat/completions", json={"model": "small"}, headers={"authorization": token}
                )
                assert answer.status_code == 401
            foreign = {"authorization": f"Bearer {other.door.session.token}"}
            answer = await rig.client.post("/v1/chat/completions", json={"model": "small"}, headers=foreign)
            assert answer.status_code == 401
            assert (await rig.chat()).status_code == 200
            await rig.door.session.close(1.0)
            assert (await rig.chat()).status_code == 401
    assert len(models.requests) == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b'{"model": NaN}', b"[" * 100_000, b'{"model": "small", "n": 1']
)
async def test_bodies_that_are_no_request(content: bytes) -> None:
    async with gateway(upstream("http://127.0.0.1:9/v1")) as rig:
        answer = await rig.client.post("/v1/chat/completions", content=content)
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_a_body_without_end_is_refused() -> None:
    async with gateway(upstream("http://127.0.0.1:9/v1")) as rig:

        async def endless() -> Any:
            while True:
                yield b" " * 1_000_000

        try:
            answer = await rig.client.post("/v1/chat/completions", content=endless())
        except httpx.TransportError:
            return  # it was cut off while it still sent
        assert answer.status_code == 413


async def test_metrics_name_the_entry_of_the_list_and_not_what_an_agent_made_up() -> None:
    with ScriptedModels([scripted.text("yes")]) as models:
        async with gateway(upstream(models.base_url)) as rig:
            await rig.chat(model="gpt-made-up")
            await rig.chat(n=7)
            await rig.settled()
            by = {"upstream": "openai", "model": "gpt-*", "endpoint": "chat/completions"}
            assert rig.metric("requests_total", **by, status="200") == 1
            assert rig.metric("tokens_total", **by, kind="cached") == 20
            assert rig.metric("unpriced_total", **by) == 1
            assert rig.metric("refusals_total", reason="policy") == 1
            assert rig.metric("request_seconds_count", **by) == 1
