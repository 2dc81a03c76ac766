# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""The reference agent: plan, act, observe, conclude, with any model behind an OpenAI-compatible endpoint.

It asks by chat completions, with tools; a model or endpoint that has none writes fenced blocks instead. What
it does goes to standard output as JSON lines, what it concludes to conclusion.md. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CONCLUSION = Path("conclusion.md")
OUTPUT_CHARS = 12_000
"""Characters of a command's output that the model sees: its two ends."""
CONTEXT_CHARS = 400_000
"""Characters of messages above which the oldest observations are left out."""
LAST_S = 120.0
"""Seconds before the end of its time at which it is asked to conclude with what it has."""
_TRIES = 5
_PASSING = {408, 409, 425, 429, 500, 502, 503, 504, 529}

SYSTEM = """\
You are a careful research engineer. You work alone in the current directory of a Linux machine, without a \
network and without anybody to ask. Your task is in the first message.

1. Plan: say in a few lines what has to be measured to answer the question, and what would count as an answer.
2. Act: one step at a time, by a tool. Write scripts to files and run them; fix seeds; repeat what varies.
3. Observe: say what the output shows before the next step, and change the plan where it was wrong.
4. Conclude: only from what you measured, with the numbers. Each finding is a sentence of its own that can be
   checked; the main ones come first; what you could not do is said, not guessed.
"""
FENCED = """
You have no tools here. Instead, end each message with exactly one fenced block: ```bash for a command to \
run, or ```conclusion for your final conclusion, which ends the work.
"""
GO_ON = "Go on: call a tool, or finish with your conclusion."
NOW = "Your budget is nearly used up. Finish now, with what you have measured so far."


def _tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": told} for key, told in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    _tool("bash", "Run a command in bash; gives its output and exit code.", command="The command."),
    _tool(
        "write_file",
        "Write a file, in the place of one that is there.",
        path="Where, relative to the current directory.",
        content="The whole file.",
    ),
    _tool("finish", "End the work.", conclusion="The findings, as they are to be read."),
]


class StoppedError(Exception):
    """The work cannot go on; the text says why."""


class NoToolsError(Exception):
    """The endpoint takes no tools."""


def tell(kind: str, text: str = "", **fields: Any) -> None:
    """A line of the stream."""
    known = {name: value for name, value in fields.items() if value not in (None, "")}
    print(json.dumps({"type": kind, "text": text, **known}), flush=True)


@dataclass
class Budget:
    """Steps are answers of the model, seconds count from the start; 0 tokens are no cap."""

    steps: int
    tokens: int
    seconds: float
    begun: float = field(default_factory=time.monotonic)
    used_steps: int = 0
    used_tokens: int = 0

    @property
    def left_s(self) -> float:
        return self.begun + self.seconds - time.monotonic()

    def is_low(self) -> bool:
        """Whether the next answer should be the last."""
        spent = self.tokens and self.used_tokens >= 0.9 * self.tokens
        return bool(spent) or self.used_steps >= self.steps - 1 or self.left_s < LAST_S

    def is_over(self) -> bool:
        spent = self.tokens and self.used_tokens >= self.tokens
        return bool(spent) or self.used_steps >= self.steps or self.left_s <= 0


@dataclass
class Model:
    """A model at an endpoint. `url` is up to and with the version."""

    url: str
    key: str
    name: str
    seed: int

    def ask(self, messages: list[dict[str, Any]], budget: Budget, **more: Any) -> dict[str, Any]:
        """The message that answers. Raises StoppedError, or NoToolsError."""
        begun = time.monotonic()
        answer = self._tried({"model": self.name, "messages": messages, "seed": self.seed, **more}, budget)
        usage = answer.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        tokens = {
            "prompt": usage.get("prompt_tokens"),
            "cached": details.get("cached_tokens"),
            "completion": usage.get("completion_tokens"),
        }
        budget.used_steps += 1
        budget.used_tokens += (tokens["prompt"] or 0) + (tokens["completion"] or 0)
        latency = round(time.monotonic() - begun, 3)
        tell("exchange", model=self.name, tokens=tokens, latency_s=latency)
        try:
            return dict(answer["choices"][0]["message"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise StoppedError(f"the model's answer is none: {json.dumps(answer)[:500]}") from None

    def _tried(self, body: dict[str, Any], budget: Budget) -> dict[str, Any]:
        for attempt in range(1, _TRIES + 1):
            try:
                return self._post(body, max(1.0, budget.left_s))
            except urllib.error.HTTPError as error:
                said = error.read(2000).decode(errors="replace")
                if error.code in {400, 404, 422} and "tools" in body and "tool" in said.lower():
                    raise NoToolsError(said) from None
                final = error.code not in _PASSING or error.headers.get("x-should-retry") == "false"
                if final or attempt == _TRIES:
                    raise StoppedError(f"the model cannot be asked: {error.code} {said[:500]}") from None
                pause = _hinted(error)
            except (OSError, ValueError, TypeError) as error:  # no connection, or no JSON object
                if attempt == _TRIES:
                    raise StoppedError(f"the model cannot be asked: {error}") from None
                pause = 0.0
            jittered = random.uniform(0.5, 1.0) * 2**attempt  # noqa: S311 -- no secret
            time.sleep(min(max(pause, jittered), 60.0, max(0.0, budget.left_s)))
        raise AssertionError("unreachable")

    def _post(self, body: dict[str, Any], seconds: float) -> dict[str, Any]:
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.key}"}
        url = f"{self.url}/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 -- the gateway's
        with urllib.request.urlopen(request, timeout=seconds) as answer:  # noqa: S310
            return dict(json.loads(answer.read()))


def _hinted(error: urllib.error.HTTPError) -> float:
    """Seconds that the server asks for, if it does."""
    hint = error.headers.get("retry-after", "")
    return float(hint) if hint.replace(".", "", 1).isdigit() else 0.0


def run(command: str, seconds: float) -> tuple[str, int | None]:
    """(output, exit code) of a command in bash; None for one that was killed after so many seconds."""
    with tempfile.TemporaryFile() as output:
        shell = subprocess.Popen(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = shell.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
            code = None
        return _ends(output), code


def _ends(output: Any) -> str:
    """What a file holds, or its two ends with what lies between them counted."""
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    if size <= OUTPUT_CHARS:
        return str(output.read().decode(errors="replace"))
    half = OUTPUT_CHARS // 2
    head = output.read(half).decode(errors="replace")
    output.seek(size - half)
    tail = output.read().decode(errors="replace")
    return f"{head}\n…[{size - 2 * half} bytes left out]…\n{tail}"


class Agent:
    """One task, from its instruction to a conclusion."""

    def __init__(self, model: Model, budget: Budget, command_s: float) -> None:
        self.model, self.budget, self.command_s = model, budget, command_s
        self.tools = True
        self.calls = 0
        self.messages: list[dict[str, Any]] = []

    def work(self, instruction: str) -> str:
        """The conclusion. Raises StoppedError."""
        self.messages = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": instruction},
        ]
        warned = False
        while not self.budget.is_over():
            if self.budget.is_low() and not warned:
                self.messages.append({"role": "user", "content": NOW})
                warned = True
            said = self._ask(last=warned)
            concluded = self._act(said)
            if concluded is not None:
                return concluded
        raise StoppedError("the budget is used up")

    def _ask(self, *, last: bool) -> dict[str, Any]:
        self._forget()
        if self.tools:
            choice = {"type": "function", "function": {"name": "finish"}} if last else "auto"
            try:
                return self.model.ask(self.messages, self.budget, tools=TOOLS, tool_choice=choice)
            except NoToolsError as error:
                tell("event", f"no tools here, fenced blocks instead: {error}")
                self.tools = False
                self.messages[0]["content"] = SYSTEM + FENCED
        return self.model.ask(self.messages, self.budget)

    def _forget(self) -> None:
        """Leave out the oldest observations of a conversation that has grown too long."""
        size = sum(len(json.dumps(message)) for message in self.messages)
        for message in self.messages[2:-8]:
            if size <= CONTEXT_CHARS:
                return
            content = message.get("content") or ""
            if message["role"] != "assistant" and len(content) > 200:
                size -= len(content) - 200
                message["content"] = content[:150] + " …[left out: too long ago]"

    def _act(self, said: dict[str, Any]) -> str | None:
        """Do what the model asks for; its conclusion, if this is it."""
        told = said.get("content") or ""
        text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        calls = [call for call in said.get("tool_calls") or [] if isinstance(call, dict)]
        if said.get("reasoning_content"):
            tell("thought", str(said["reasoning_content"]), reasoning=True)
        self.messages.append(
            {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
        )
        if text:
            tell("thought", text)
        for call in calls:
            name, given = _asked(call)
            if name == "finish" and str(given.get("conclusion", "")).strip():
                return str(given["conclusion"])
            observed = self._do(name, given)
            self.messages.append({"role": "tool", "tool_call_id": call.get("id", ""), "content": observed})
        return None if calls else self._fenced(text)

    def _fenced(self, text: str) -> str | None:
        """What a message without a tool call asks for: a block, or nothing."""
        blocks = re.findall(r"^```(bash|sh|conclusion)[ \t]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if not blocks:
            if CONCLUSION.is_file() and CONCLUSION.read_text(errors="replace").strip():
                return CONCLUSION.read_text(errors="replace")  # it wrote that itself, and has no more to do
            self.messages.append({"role": "user", "content": GO_ON})
            return None
        kind, body = blocks[-1]
        if kind == "conclusion" and body.strip():
            return str(body)
        self.messages.append({"role": "user", "content": self._do("bash", {"command": body})})
        return None

    def _do(self, name: str, given: dict[str, Any]) -> str:
        """What a tool says."""
        self.calls += 1
        if name == "bash" and str(given.get("command", "")).strip():
            return self._bash(str(self.calls), str(given["command"]))
        if name == "write_file" and given.get("path"):
            return self._write(str(self.calls), str(given["path"]), str(given.get("content", "")))
        return f"there is no tool {name!r} with these arguments; there are bash, write_file and finish"

    def _bash(self, call: str, command: str) -> str:
        tell("command", command, call=call, tool="bash")
        seconds = max(1.0, min(self.command_s, self.budget.left_s - LAST_S / 2))
        output, code = run(command, seconds)
        tell("result", output, call=call, exit_code=code, failed=True if code is None else None)
        how = f"killed after {seconds:.0f} s" if code is None else f"exit code {code}"
        return f"{output}\n[{how}; {max(0.0, self.budget.left_s):.0f} s are left]"

    def _write(self, call: str, path: str, content: str) -> str:
        place = Path(path)
        change = "update" if place.exists() else "add"
        tell(
            "edit",
            "\n".join(f"+{line}" for line in content.splitlines()),
            call=call,
            path=path,
            change=change,
        )
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, encoding="utf-8")
        except (OSError, ValueError) as error:
            tell("result", str(error), call=call, failed=True)
            return f"cannot write {path}: {error}"
        tell("result", call=call)
        return f"wrote {path}"


def _asked(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """(name, arguments) of a tool call; what cannot be read has none."""
    function = call.get("function") or {}
    try:
        given = json.loads(function.get("arguments") or "{}")
    except ValueError:
        given = {}
    return str(function.get("name", "")), given if isinstance(given, dict) else {}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=100, help="answers of the model, at most")
    options.add_argument("--tokens", type=int, default=0, help="prompt and completion together; 0: no cap")
    options.add_argument("--command-s", type=float, default=1800, help="seconds that one command may take")
    wanted = options.parse_args()
    environ = os.environ
    seconds = float(environ.get("FIRETRIAL_WALL_S", "3600"))
    model = Model(
        environ.get("OPENAI_BASE_URL", "").rstrip("/"),
        environ.get("OPENAI_API_KEY", ""),
        environ.get("FIRETRIAL_MODEL", ""),
        int(environ.get("FIRETRIAL_REPEAT", "1")),
    )
    agent = Agent(model, Budget(wanted.steps, wanted.tokens, seconds), wanted.command_s)
    try:
        concluded = agent.work(Path("instruction.txt").read_text(encoding="utf-8"))
    except StoppedError as error:
        tell("event", f"stopped: {error}")
        return 1
    CONCLUSION.write_text(concluded, encoding="utf-8")
    tell("conclusion", concluded, source=str(CONCLUSION))
    return 0


if __name__ == "__main__":
    sys.exit(main())
