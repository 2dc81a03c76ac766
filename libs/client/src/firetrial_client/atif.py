"""A run as an ATIF file (Agent Trajectory Interchange Format, Harbor's RFC 0001), written as it is read.

A command or an edit and its output become one step of the agent with a tool call and its observation; an
exchange with a model becomes the metrics of the step that follows it. Output that belongs to no command, and
what befell the run, are steps of the system.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from firetrial.runner.v1.run_pb2 import Run

VERSION = "ATIF-v1.7"
MAX_CONTENT = 1024 * 1024
"""Characters of output that one step holds; more of it comes in further steps."""


def document(run: Run, steps: Iterable[dict[str, Any]], conclusion: str = "") -> Iterator[str]:
    """The file in pieces of text. `conclusion` stands at the end where no step tells it."""
    yield json.dumps(_head(run), ensure_ascii=True)[:-1] + ', "steps": ['
    writer = _Writer(run)
    number = 0
    for step in writer.steps(steps, conclusion):
        number += 1
        yield (",\n" if number > 1 else "\n") + json.dumps({"step_id": number, **step})
    yield f'\n], "final_metrics": {json.dumps(_final(run, number))}}}\n'


def _head(run: Run) -> dict[str, Any]:
    name, _, version = run.agent_id.rpartition("@")
    agent = {"name": name or run.agent_id, "version": version or "unknown"}
    if run.model:
        agent["model_name"] = run.model
    extra = {"task_id": run.task_id, "experiment_id": run.experiment_id, "lacking": list(run.lacking)}
    return {
        "schema_version": VERSION,
        "session_id": run.id,
        "trajectory_id": run.id,
        "agent": agent,
        "extra": {key: value for key, value in extra.items() if value},
    }


def _final(run: Run, steps: int) -> dict[str, Any]:
    usage, names = run.usage, {"prompt": "prompt_tokens", "completion": "completion_tokens"}
    told: dict[str, Any] = {"total_steps": steps}
    for name in (*names.values(), "cached_tokens", "cost_usd"):
        if usage.HasField(name):  # type: ignore[arg-type]
            told[f"total_{name}"] = getattr(usage, name)
    return told


@dataclass(slots=True)
class _Writer:
    run: Run
    _metrics: dict[str, Any] = field(default_factory=dict)
    _open: dict[str, Any] = field(default_factory=dict)
    _call: str | None = None
    _lines: list[str] = field(default_factory=list)
    _size: int = 0
    _concluded: bool = False

    def steps(self, told: Iterable[dict[str, Any]], conclusion: str) -> Iterator[dict[str, Any]]:
        for step in _joined(told):
            yield from self._step(step)
        yield from self._close()
        if conclusion and not self._concluded:
            yield from self._agent({}, conclusion)
        elif self._metrics:
            yield from self._agent({}, "")

    def _step(self, step: dict[str, Any]) -> Iterator[dict[str, Any]]:
        kind, text = step.get("kind"), str(step.get("text", ""))
        if kind == "output":
            yield from self._output(step, text)
            return
        yield from self._close()
        if kind == "model":
            if self._metrics:
                yield from self._agent(step, "")
            self._metrics = _metrics(step)
        elif kind == "thought" and step.get("reasoning"):
            yield from self._agent(step, "", reasoning_content=text)
        elif kind in {"thought", "conclusion"}:
            self._concluded |= kind == "conclusion"
            yield from self._agent(step, text)
        elif kind in {"command", "edit"}:
            self._begin(step, text)
        else:
            source = "user" if step.get("source") == "user" else "system"
            yield self._at(step) | {"source": source, "message": text}

    def _begin(self, step: dict[str, Any], text: str) -> None:
        call = str(step.get("call") or f"call-{step.get('step')}")
        told = {"tool_call_id": call, "function_name": str(step.get("tool") or "shell")}
        if step.get("kind") == "edit":
            told["function_name"] = "edit"
            arguments = {"path": step.get("path", ""), "change": step.get("change", ""), "diff": text}
        else:
            arguments = {"command": text}
        how = {name: step[name] for name in ("exit_code", "failed") if name in step}
        self._open = next(self._agent(step, "", tool_calls=[{**told, "arguments": arguments}])) | {"how": how}
        self._call = call

    def _output(self, step: dict[str, Any], text: str) -> Iterator[dict[str, Any]]:
        call = step.get("call")
        follows = self._open and (call is None or call == self._call)
        if not follows or self._size > MAX_CONTENT:
            yield from self._close()
            self._open = self._at(step) | {"source": "system", "message": ""}
            self._call = call
        self._lines.append(text)
        self._size += len(text) + 1

    def _close(self) -> Iterator[dict[str, Any]]:
        """The step that was open, with its output."""
        if not self._open:
            return
        step, content = self._open, "\n".join(self._lines)
        how = step.pop("how", {})
        if "tool_calls" in step:
            result = {"source_call_id": self._call, "content": content} | ({"extra": how} if how else {})
            step["observation"] = {"results": [result]}
        else:
            step["message"] = content
        self._open, self._call, self._lines, self._size = {}, None, [], 0
        yield step

    def _agent(self, step: dict[str, Any], message: str, **more: Any) -> Iterator[dict[str, Any]]:
        metrics, self._metrics = self._metrics, {}
        model = metrics.pop("model_name", None)
        yield (
            self._at(step)
            | {"source": "agent", "message": message}
            | more
            | ({"model_name": model} if model else {})
            | ({"metrics": metrics} if metrics else {})
        )

    def _at(self, step: dict[str, Any]) -> dict[str, Any]:
        if not self.run.HasField("started_at"):
            return {}
        begun: datetime = self.run.started_at.ToDatetime(UTC)
        at = begun + timedelta(seconds=float(step.get("offset_s") or 0))
        return {"timestamp": at.isoformat()}


def _joined(steps: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Steps whose pieces are put together again."""
    begun: dict[tuple[str, str], dict[str, Any]] = {}
    for step in steps:
        key = (str(step.get("kind")), str(step.get("stream", "")))
        if first := begun.pop(key, None):
            first["parts"].append(str(step.get("text", "")))
        else:
            first = {**step, "parts": [str(step.get("text", ""))]}
        if step.get("continued"):
            begun[key] = first
        else:
            yield first | {"text": "".join(first.pop("parts"))}
    for left in begun.values():
        yield left | {"text": "".join(left.pop("parts"))}


def _metrics(step: dict[str, Any]) -> dict[str, Any]:
    told = step.get("model")
    model: dict[str, Any] = told if isinstance(told, dict) else {}
    tokens = model.get("tokens")
    counts: dict[str, Any] = tokens if isinstance(tokens, dict) else {}
    names = {"prompt": "prompt_tokens", "completion": "completion_tokens", "cached": "cached_tokens"}
    found = {to: counts[name] for name, to in names.items() if counts.get(name) is not None}
    if model.get("cost_usd") is not None:
        found["cost_usd"] = model["cost_usd"]
    if model.get("name"):
        found["model_name"] = model["name"]
    return found
