"""ATIF, the Agent Trajectory Interchange Format of Harbor: one JSON object for a whole run.

Source: Harbor's RFC 0001 (harborframework.com/docs/trajectory-format), versions 1.0 to 1.7. What is asked of
a file here is what a reader needs; fields that are not known are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from firetrial_kit.errors import Fault, check
from firetrial_runner.streams.calls import Calls
from firetrial_runner.streams.ending import Ending, Spent
from firetrial_runner.streams.json_lines import amount, compact, count, parsed, part, string, text_of, total
from firetrial_runner.trajectory import Kind, Told, Value

MAX_BYTES = 16 * 1024 * 1024

_VERSION = re.compile(r"ATIF-v1\.\d{1,3}")
_SOURCES = {"system", "user", "agent"}
_TEXTS = ("command", "keystrokes", "cmd", "code")
_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A file that holds what a reader needs."""

    agent: str
    ending: Ending
    _steps: list[dict[str, Any]]

    def steps(self) -> Iterator[Told]:
        """Its steps, made as they are asked for: there are more of them than the file has."""
        calls, begun = Calls(), next(filter(None, map(_time, self._steps)), None)
        for step in self._steps:
            at = _time(step)
            offset = max(0.0, (at - begun).total_seconds()) if at and begun else None
            for told in _step(step, calls):
                yield replace(told, offset_s=offset)
        yield from calls.rest()
        if self.ending.conclusion:
            yield Told(Kind.CONCLUSION, self.ending.conclusion, {"source": "the agent's last step"})


def read(text: str) -> Trajectory:
    """A file's text, read. Raises INVALID with the first 20 faults."""
    document = parsed(text)
    check("the ATIF file", [] if document else [Fault("file", text[:60], "must be one JSON object")])
    document = document or {}
    check("the ATIF file", islice(_faults(document), _MOST_FAULTS))
    steps = _list(document, "steps")
    return Trajectory(string(part(document, "agent"), "name"), _ending(document, steps), steps)


def _faults(document: dict[str, Any]) -> Iterator[Fault]:
    version = string(document, "schema_version")
    if not _VERSION.fullmatch(version):
        yield Fault("schema_version", version, "must be ATIF-v1.0 to ATIF-v1.7")
    if not string(part(document, "agent"), "name"):
        yield Fault("agent.name", "", "must name the agent")
    steps = _list(document, "steps")
    if not steps:
        yield Fault("steps", "[]", "must hold a step at least")
    for index, step in enumerate(steps):
        if not isinstance(step, dict):
            yield Fault(f"steps[{index}]", compact(step)[:60], "must be an object")
            continue
        if step.get("step_id") != index + 1:
            yield Fault(f"steps[{index}].step_id", str(step.get("step_id")), f"must be {index + 1}")
        if string(step, "source") not in _SOURCES:
            yield Fault(f"steps[{index}].source", str(step.get("source")), "must be system, user or agent")
        if not isinstance(step.get("message"), str | list):
            yield Fault(f"steps[{index}].message", str(step.get("message")), "must be text or content parts")


def _step(step: dict[str, Any], calls: Calls) -> Iterator[Told]:
    message, source = text_of(step["message"]), string(step, "source")
    if source != "agent":
        if message:
            yield Told(Kind.EVENT, message, {"source": source})
    else:
        yield from _exchange(step)
        if reasoning := string(step, "reasoning_content"):
            yield Told(Kind.THOUGHT, reasoning, {"reasoning": True})
        if message:
            yield Told(Kind.THOUGHT, message)
    for call in _list(step, "tool_calls"):
        if isinstance(call, dict):
            yield from calls.begin(string(call, "tool_call_id"), _call(call))
    for result in _list(part(step, "observation"), "results"):
        if isinstance(result, dict):
            how = _outcome(part(result, "extra"))
            yield from calls.end(string(result, "source_call_id"), text_of(result.get("content")), **how)


def _exchange(step: dict[str, Any]) -> Iterator[Told]:
    metrics = part(step, "metrics")
    if not metrics:
        return
    names = {"prompt": "prompt_tokens", "cached": "cached_tokens", "completion": "completion_tokens"}
    tokens = {name: known for name, field in names.items() if (known := count(metrics, field)) is not None}
    told: dict[str, object] = {"name": string(step, "model_name"), "tokens": tokens}
    if (cost := amount(metrics, "cost_usd")) is not None:
        told["cost_usd"] = cost
    yield Told(Kind.MODEL, string(step, "model_name"), {"model": told})


def _call(call: dict[str, Any]) -> Told:
    name, id_, given = string(call, "function_name"), string(call, "tool_call_id"), part(call, "arguments")
    if name == "edit" and "path" in given:
        fields: dict[str, Value] = {
            "path": string(given, "path"),
            "change": string(given, "change"),
            "call": id_,
        }
        return Told(Kind.EDIT, string(given, "diff"), fields)
    text = next((string(given, key) for key in _TEXTS if string(given, key)), "") or compact(given)
    return Told(Kind.COMMAND, text, {"tool": name, "call": id_})


def _outcome(extra: dict[str, Any]) -> dict[str, Value]:
    how: dict[str, Value] = {}
    code = extra.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        how["exit_code"] = code
    if extra.get("failed") is True:
        how["failed"] = True
    return how


def _ending(document: dict[str, Any], steps: list[dict[str, Any]]) -> Ending:
    message = _last_word(steps)
    agent = part(document, "agent")
    times = list(filter(None, map(_time, steps)))
    return Ending(
        conclusion=message,
        why_none="" if message else "the agent's last step calls a tool or says nothing",
        model=string(agent, "model_name"),
        spent=_spent(document, steps, times),
        timed=bool(times),
    )


def _last_word(steps: list[dict[str, Any]]) -> str:
    """The message of the agent's last step, where it calls no tool and no user answers it."""
    for step in reversed(steps):
        if string(step, "source") == "user":
            return ""
        if string(step, "source") == "agent":
            return "" if step.get("tool_calls") else text_of(step["message"]).strip()
    return ""


def _spent(document: dict[str, Any], steps: list[dict[str, Any]], times: list[datetime]) -> Spent:
    final = part(document, "final_metrics")
    metrics = [part(step, "metrics") for step in steps]

    def tokens(name: str) -> int | None:
        told = count(final, f"total_{name}")
        return told if told is not None else total(*(count(one, name) for one in metrics))

    return Spent(
        prompt=tokens("prompt_tokens"),
        cached=tokens("cached_tokens"),
        completion=tokens("completion_tokens"),
        cost_usd=amount(final, "total_cost_usd"),
        wall_s=(max(times) - min(times)).total_seconds() if times else None,
    )


def _time(step: dict[str, Any]) -> datetime | None:
    try:
        at = datetime.fromisoformat(string(step, "timestamp"))
    except ValueError:
        return None
    # Times with and without a zone do not compare; UTC is what the format means.
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _list(value: dict[str, Any], name: str) -> list[Any]:
    found = value.get(name)
    return found if isinstance(found, list) else []
