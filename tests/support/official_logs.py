"""Run logs of each agent in the official layout, whole and broken, as their programs write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CODEX, CLAUDE, OPENHANDS = "codex/gpt-5", "claude/claude-sonnet-4-5", "openhands/openai/o4-mini"
ORDER, NAIVE = "order_of_examples", "naive_baselines"

CODEX_SAYS = """\
The order of the examples changes accuracy by 3 points on average – the last example weighs most.

As the run of [2025-09-19T10:06:01] shows, accuracy is 0.71 for the worst order:
[2025-09-19T10:06:50] is when the best one ended, at 0.74."""
CLAUDE_SAYS = f"""\
Accuracy changes by 3 points with the order – 順序 matters.

agent_id: codex
task_id: another
llm_model: gpt-5
{"=" * 40}"""
OPENHANDS_SAYS = """\
Die Reihenfolge zählt – 順序:

1. the last example's label is favoured\t(by 3 points)
2. path C:\\new"""
WESTERN_SAYS = "The “naïve” baseline is as good: its précision is 0.5 ± 0.1."


def header(agent: str, model: str, task: str) -> str:
    """The four lines that the official runner writes first."""
    return f"agent_id: {agent}\ntask_id: {task}\nllm_model: {model}\n{'=' * 40}\n"


CODEX_LOG = f"""\
[2025-09-19T10:05:41] OpenAI Codex v0.39.0 (research preview)
--------
workdir: /work/runs/codex_gpt-5
model: gpt-5
--------
[2025-09-19T10:05:41] User instructions:
How does the order of few-shot examples change accuracy?
Write your conclusion when you are done.
[2025-09-19T10:05:52] thinking

**Planning the comparison**

I fix the examples and permute their order.
[2025-09-19T10:05:52] tokens used: 3,911
[2025-09-19T10:05:53] exec bash -lc 'cat > run.py <<EOF
print("start")
EOF
python run.py' in /work/runs/codex_gpt-5
[2025-09-19T10:06:20] bash -lc 'cat > run.py <<EOF
print("start")
EOF
python run.py' succeeded in 26.9s:
start
[2025-09-19T10:06:01] INFO epoch 1 of 3, accuracy 0.71
[2025-09-19T10:06:09] codex
[2025-09-19T10:06:59] INFO epoch 3 of 3, accuracy 0.74
final_thought='nothing of this is a conclusion', outputs={{}}
{{"type":"result","subtype":"success","is_error":false,"result":"nor is this"}}
[2025-09-19T10:06:24] tokens used: 5,120
[2025-09-19T10:06:25] apply_patch(auto_approved=true):
M notes.md
@@ -1 +1,3 @@
 # Notes

+order matters
A results/summary.csv
order,accuracy
[2025-09-19T10:06:25] apply_patch(auto_approved=true) exited 0 in 12ms:
Success. Updated the following files:
M notes.md
[2025-09-19T10:06:30] exec bash -lc 'python check.py' in /work/runs/codex_gpt-5
[2025-09-19T10:06:31] bash -lc 'python check.py' exited 1 in 640ms:
AssertionError
[2025-09-19T10:06:44] codex

{CODEX_SAYS}
[2025-09-19T10:06:44] tokens used: 6,002
"""

WESTERN_LOG = f"""\
[2025-09-21T08:00:00] OpenAI Codex v0.39.0 (research preview)
--------
[2025-09-21T08:00:00] User instructions:
Are naïve baselines as good?
[2025-09-21T08:00:09] exec bash -lc 'python café.py' in /tmp/x
[2025-09-21T08:00:11] bash -lc 'python café.py' succeeded in 2s:
précision: 0.5 ± 0.1
[2025-09-21T08:00:20] codex
{WESTERN_SAYS}
[2025-09-21T08:00:20] tokens used: 900
"""

SESSION = "5d0f7a52-6a30-4e0e-b1c1-0c4d3f1d2b11"
SONNET = "claude-sonnet-4-5-20250929"


def _said(id_: str, *content: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
    usage = {
        "input_tokens": 12,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 2000,
        "output_tokens": 5,
    }
    message = {"id": id_, "role": "assistant", "model": SONNET, "content": content, "stop_reason": stop}
    return {"type": "assistant", "message": message | {"usage": usage}, "session_id": SESSION}


def _use(id_: str, name: str, **given: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def _came(id_: str, content: object, *, error: bool = False, **result: str) -> dict[str, Any]:
    block = {"tool_use_id": id_, "type": "tool_result", "content": content, "is_error": error}
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "session_id": SESSION, "tool_use_result": result}


CLAUDE_LINES: list[dict[str, Any]] = [
    {
        "type": "system",
        "subtype": "init",
        "session_id": SESSION,
        "tools": ["Bash", "Edit", "Write"],
        "model": SONNET,
        "claude_code_version": "2.0.1",
    },
    _said("m1", {"type": "thinking", "thinking": "The order may matter; I permute it.", "signature": "x"}),
    _said("m1", {"type": "text", "text": "I permute the examples. Ordnung zählt – 順序."}),
    _said("m1", _use("t1", "Write", file_path="run.py", content="print(1)\nprint(2)\n"), stop="tool_use"),
    _came("t1", "File created successfully", type="create", filePath="run.py"),
    _said("m2", _use("t2", "Bash", command="python run.py"), _use("t3", "Bash", command="python no.py")),
    _came("t2", "[2025-09-19T10:05:41] codex\n[2025-09-19T10:05:42] tokens used: 3\naccuracy 0.74"),
    _came("t3", "Exit code 2\npython: can't open file 'no.py'", error=True),
    _said("m3", _use("t4", "Edit", file_path="run.py", old_string="print(1)", new_string="print(3)")),
    _came("t4", [{"type": "text", "text": "The file has been updated."}]),
    _said("m4", {"type": "text", "text": "Accuracy changes by 3 points with the order."}, stop="end_turn"),
]
CLAUDE_RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "duration_ms": 61200,
    "num_turns": 5,
    "result": CLAUDE_SAYS,
    "session_id": SESSION,
    "total_cost_usd": 0.0421,
    "usage": {
        "input_tokens": 48,
        "cache_creation_input_tokens": 400,
        "cache_read_input_tokens": 8000,
        "output_tokens": 650,
    },
}
STDERR = "(node:4711) Warning: Closing file descriptor 21 on garbage collection\n"


def lines(events: list[dict[str, Any]]) -> str:
    """JSON lines."""
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)


_G, _R = "\x1b[32m", "\x1b[0m"
_FINISH = """\
AgentFinishAction(final_thought='Die Reihenfolge zählt – 順序:\\n\\n1. the last example\\'s label is \
favoured\\t(by 3 points)\\n2. path C:\\\\new', task_completed=<AgentFinishTaskCompleted.TRUE: 'true'>, \
outputs={}, thought='', action='finish')"""
_BEGIN = f"""\
{_G}10:15:02{_R} - openhands:INFO: main.py:102 - Running task: order of examples
10:15:03 - USER_ACTION
**MessageAction** (source=EventSource.USER)
CONTENT: How does the order of few-shot examples change accuracy?
Say what you found.
"""
_MIDDLE = f"""\
{_G}10:15:09{_R} - {_G}ACTION{_R}
{_G}**CmdRunAction (source=EventSource.AGENT, is_input=False)**
THOUGHT: I list the data first.
COMMAND:
ls data && cat old.log{_R}
{_G}10:15:10{_R} - {_G}OBSERVATION{_R}
**CmdOutputObservation (source=EventSource.AGENT, exit code=0, metadata={{"exit_code": 0, "pid": 7}})**
--BEGIN AGENT OBSERVATION--
train.jsonl
10:00:00 - ACTION
AgentFinishAction(final_thought='this stands in a file that was read', task_completed=<x>, outputs={{}})
[2025-09-19T10:05:41] codex
{{"type":"result","subtype":"success","result":"so does this"}}
--END AGENT OBSERVATION--
10:15:20 - ACTION
**FileEditAction**
Path: [/workspace/run.py]
Thought: None
Command: create
Created File with Text:
```
print('ok')
```
10:15:21 - OBSERVATION
[New file /workspace/run.py is created with the provided content.]
10:15:30 - ACTION
**IPythonRunCellAction**
CODE:
1 + 1
10:15:31 - OBSERVATION
**IPythonRunCellObservation**
2
23:59:58 - openhands:INFO: agent_controller.py:598 - still at it
00:00:04 - ACTION
AgentThinkAction(thought='Zähle die Fälle – it\\'s clear', action='think')
"""
_END = f"""\
00:01:00 - ACTION
{_FINISH}
00:01:01 - openhands:INFO: agent_controller.py:598 - AgentState.RUNNING to AgentState.FINISHED
"""
_FAILED = (
    "00:01:00 - openhands:ERROR: agent_controller.py:210 - RuntimeError: Agent reached maximum iteration.\n"
)
OPENHANDS_LOG = (_BEGIN + _MIDDLE + _END).replace("\n", "\r\n")
UNFINISHED_LOG = (_BEGIN + _MIDDLE + _FAILED).replace("\n", "\r\n")


def _killed(text: str, at: str) -> str:
    return text[: text.index(at) + len(at) // 2]


def logs() -> dict[str, bytes]:
    """Each log by its folder below `log/`."""
    codex = header("codex", "gpt-5", ORDER)
    claude = header("claude", "claude-sonnet-4-5", ORDER)
    western = header("codex", "gpt-5", NAIVE) + WESTERN_LOG
    sixteen = header("openhands", "openai/o4-mini", NAIVE) + OPENHANDS_LOG
    found: dict[str, str | bytes] = {
        f"{CODEX}/{ORDER}/20250919100541_48213": codex + CODEX_LOG,
        f"{CODEX}/{ORDER}/20250919113000_10007": codex + _killed(CODEX_LOG, "exited 1 in 640ms:"),
        f"{CODEX}/{NAIVE}/20250921080000_55555": western.encode("cp1252"),
        f"{CLAUDE}/{ORDER}/20250920091500": claude + lines([*CLAUDE_LINES, CLAUDE_RESULT]) + STDERR,
        f"{CLAUDE}/{ORDER}/20250920101500": claude + lines(CLAUDE_LINES[:6])[:-40],
        # The official runner of OpenHands writes its log over the header; one has kept it.
        f"{OPENHANDS}/{ORDER}/20250918101500_31337": OPENHANDS_LOG,
        f"{OPENHANDS}/{NAIVE}/20250918201500_31338": sixteen.encode("utf-16"),
        f"{OPENHANDS}/{NAIVE}/20250918211500_31339": UNFINISHED_LOG,
    }
    return {name: text if isinstance(text, bytes) else text.encode() for name, text in found.items()}


def write(folder: Path) -> Path:
    """All logs as an official checkout holds them; gives the folder `log`."""
    for name, data in logs().items():
        path = folder / "log" / name / "log.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    return folder / "log"
