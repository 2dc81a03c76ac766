"""Runs as ATIF files: held to what the format's documentation says, and read by the runner's own reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, model_validator

from firetrial.runner.v1.run_pb2 import Run, Usage
from firetrial_client import atif
from firetrial_runner.streams import atif as reader
from firetrial_runner.trajectory import Kind


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ToolCall(Strict):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class Result(Strict):
    source_call_id: str | None = None
    content: str | None = None
    extra: dict[str, Any] | None = None


class Observation(Strict):
    results: list[Result]


class Metrics(Strict):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class Step(Strict):
    """Fields of a step in ATIF-v1.7, as Harbor documents them."""

    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    message: str
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def agents_own(self) -> Step:
        if self.source != "agent":
            assert {self.model_name, self.reasoning_content} == {None}
            assert self.tool_calls is None
            assert self.metrics is None
        if self.timestamp:
            assert datetime.fromisoformat(self.timestamp).tzinfo
        calls = {call.tool_call_id for call in self.tool_calls or []}
        results = self.observation.results if self.observation else []
        assert all(result.source_call_id is None or result.source_call_id in calls for result in results)
        return self


class Agent(Strict):
    name: str
    version: str
    model_name: str | None = None


class FinalMetrics(Strict):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int


class Document(Strict):
    schema_version: Literal["ATIF-v1.7"]
    session_id: str
    trajectory_id: str
    agent: Agent
    steps: list[Step]
    final_metrics: FinalMetrics
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def in_order(self) -> Document:
        assert [step.step_id for step in self.steps] == list(range(1, len(self.steps) + 1))
        assert self.final_metrics.total_steps == len(self.steps)
        return self


RUN = Run(
    id="r-1", agent_id="codex@0a1b", model="gpt-5", task_id="t-1", usage=Usage(prompt_tokens=9, cost_usd=0.5)
)
RUN.started_at.FromDatetime(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def written(steps: Sequence[dict[str, Any]], conclusion: str = "", run: Run = RUN) -> Document:
    numbered = [{"step": number, "offset_s": number / 2, **step} for number, step in enumerate(steps, 1)]
    text = "".join(atif.document(run, numbered, conclusion))
    return Document.model_validate_json(text)


TOKENS = {"prompt": 5, "completion": 2, "cached": 1}
STEPS: list[dict[str, Any]] = [
    {"kind": "event", "text": "started in bubblewrap"},
    {"kind": "event", "text": "Find out.", "source": "user"},
    {"kind": "output", "stream": "stdout", "text": "loose"},
    {"kind": "output", "stream": "stdout", "text": "lines"},
    {"kind": "model", "text": "gpt-5: 200", "model": {"name": "gpt-5", "tokens": TOKENS, "cost_usd": 0.1}},
    {"kind": "thought", "text": "hm", "reasoning": True},
    {"kind": "command", "text": "ls", "call": "c1", "exit_code": 0},
    {"kind": "output", "stream": "stdout", "text": "a.py", "call": "c1"},
    {"kind": "output", "stream": "stdout", "text": "b.py", "call": "c1"},
    {"kind": "edit", "text": "-1\n+2", "path": "a.py", "change": "update", "failed": True},
    {"kind": "thought", "text": "in two ", "continued": True},
    {"kind": "thought", "text": "pieces"},
    {"kind": "conclusion", "text": "It helps.", "source": "the last message"},
]


def test_steps_of_every_kind() -> None:
    document = written(STEPS, "It helps.")
    assert document.agent == Agent(name="codex", version="0a1b", model_name="gpt-5")
    shown = [(step.source, step.message or step.reasoning_content) for step in document.steps]
    assert shown == [
        ("system", "started in bubblewrap"),
        ("user", "Find out."),
        ("system", "loose\nlines"),
        ("agent", "hm"),
        ("agent", None),
        ("agent", None),
        ("agent", "in two pieces"),
        ("agent", "It helps."),
    ]
    assert document.steps[3].metrics == Metrics(
        prompt_tokens=5, completion_tokens=2, cached_tokens=1, cost_usd=0.1
    )
    listed, edited = document.steps[4], document.steps[5]
    assert listed.tool_calls == [
        ToolCall(tool_call_id="c1", function_name="shell", arguments={"command": "ls"})
    ]
    assert listed.observation is not None
    assert listed.observation.results == [
        Result(source_call_id="c1", content="a.py\nb.py", extra={"exit_code": 0})
    ]
    assert edited.tool_calls is not None
    assert edited.tool_calls[0].arguments == {"path": "a.py", "change": "update", "diff": "-1\n+2"}
    assert document.steps[0].timestamp == "2026-01-02T03:04:05.500000+00:00"
    assert document.final_metrics.total_prompt_tokens == 9
    assert document.final_metrics.total_cost_usd == 0.5
    assert document.final_metrics.total_completion_tokens is None


def test_a_conclusion_that_no_step_tells_stands_at_the_end() -> None:
    assert written(STEPS[:3], "By file.").steps[-1].message == "By file."
    assert written([{"kind": "model", "text": "", "model": {"tokens": TOKENS}}]).steps[0].metrics is not None
    assert written([]).steps == []
    assert written([], run=Run(id="r-2", agent_id="codex@1")).final_metrics.total_steps == 0


def test_output_without_end_comes_in_steps() -> None:
    line = {"kind": "output", "stream": "stdout", "text": "y" * (atif.MAX_CONTENT // 3)}
    document = written([{"kind": "command", "text": "yes"}, *[line] * 12])
    assert len(document.steps) == 4
    result = document.steps[0].observation
    assert result is not None
    told = [result.results[0].content or "", *(step.message for step in document.steps[1:])]
    assert sum(text.count("y") for text in told) == 12 * len(line["text"])


_TEXT = st.text(max_size=20)
_STEP = st.one_of(
    st.fixed_dictionaries({"kind": st.just("event"), "text": _TEXT}),
    st.fixed_dictionaries({"kind": st.just("thought"), "text": _TEXT, "reasoning": st.booleans()}),
    st.fixed_dictionaries(
        {"kind": st.just("command"), "text": _TEXT, "call": st.sampled_from(["1", "2", None])}
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("output"),
            "stream": st.sampled_from(["stdout", "stderr"]),
            "text": _TEXT,
            "call": st.sampled_from(["1", "2", None]),
            "continued": st.booleans(),
        }
    ),
    st.fixed_dictionaries({"kind": st.just("model"), "text": _TEXT, "model": st.just({"tokens": TOKENS})}),
    st.fixed_dictionaries({"kind": st.just("unheard of"), "text": _TEXT}),
)


@given(st.lists(_STEP, max_size=25))
def test_any_steps_make_a_valid_file_that_is_read_again(steps: list[dict[str, Any]]) -> None:
    written(steps)
    text = "".join(atif.document(RUN, steps, "It helps."))
    found = reader.read(text)
    told = list(found.steps())
    assert found.ending.conclusion == "It helps."
    assert told[-1].kind is Kind.CONCLUSION
    commands = [step["text"] for step in steps if step["kind"] == "command" and step["text"]]
    assert [step.text for step in told if step.kind is Kind.COMMAND and step.text in commands] == commands
    assert json.loads(text)["schema_version"] == atif.VERSION
