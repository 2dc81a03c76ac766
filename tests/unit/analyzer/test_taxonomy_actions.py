import json
from pathlib import Path

import pytest

from firetrial_analyzer.taxonomy.actions import Action, Kind, actions, stream
from firetrial_analyzer.taxonomy.evidence import edited_code, ending, is_experiment, may_run
from firetrial_analyzer.taxonomy.steps import Step, StepKind, read

TRAJECTORIES = Path(__file__).parent / "data" / "trajectories"


def steps(text: str | list[dict[str, object]]) -> list[Step]:
    lines = text.split("\n") if isinstance(text, str) else [json.dumps(item) for item in text]
    return [Step(n, n, float(n), "stdout", line) for n, line in enumerate(lines, 1)]


def told(found: list[Action]) -> list[tuple[str, int, str, str, int | None]]:
    return [(action.kind.value, action.step, action.text, action.output, action.code) for action in found]


CLAUDE: list[dict[str, object]] = [
    {"type": "system", "subtype": "init"},
    {"type": "assistant", "message": {"content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "python x.py"}},
    ]}},
    {"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "boom\nbang"}],
         "is_error": True},
    ]}},
    {"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "b", "name": "Write",
         "input": {"file_path": "/w/x.py", "content": "print(1)"}},
        {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "/w/x.py"}},
    ]}},
    {"type": "result", "subtype": "success", "result": "All done."},
]  # fmt: skip


def test_claude_code() -> None:
    assert told(actions(steps(CLAUDE))) == [
        ("say", 2, "Let me look.", "", None),
        ("run", 2, "python x.py", "boom\nbang", 1),
        ("edit", 4, "print(1)", "", None),
        ("use", 4, "[('file_path', '/w/x.py')]", "", None),
        ("say", 5, "success\nAll done.", "", None),
    ]


@pytest.mark.needs("shared")
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_events_of_the_real_programs(agent: str, shared: Path) -> None:
    lines = (shared / "streams" / f"{agent}_events.jsonl").read_text().splitlines()
    found = actions(Step(n, n, 0.0, "stdout", line) for n, line in enumerate(lines, 1))
    (ran,) = [action for action in found if action.kind is Kind.RUN]
    assert "echo hello-from-tool > made.txt" in ran.text
    assert (ran.output, ran.code) == ("hello-from-tool", 0)
    assert "All done." in [action for action in found if action.kind is Kind.SAY][-1].text


def command(**more: object) -> dict[str, object]:
    return {"id": "i1", "type": "command_execution", "command": "bash -lc 'python x.py'", **more}


CODEX: list[dict[str, object]] = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.started", "item": command(exit_code=None)},
    {"type": "item.completed", "item": command(aggregated_output="0.5\n", exit_code=0)},
    {"type": "item.completed", "item": {"id": "i2", "type": "file_change", "changes": [{"path": "y.py"}]}},
    {"type": "item.completed", "item": {"id": "i3", "type": "agent_message", "text": "Done."}},
    {"type": "turn.failed", "error": {"message": "the budget is used up"}},
]


def test_codex() -> None:
    assert told(actions(steps(CODEX))) == [
        ("run", 2, "bash -lc 'python x.py'", "0.5", 0),
        ("edit", 4, "", "", None),
        ("say", 5, "Done.", "", None),
        ("loose", 6, "", "the budget is used up", None),
    ]


OPENHANDS = """14:02:11 - openhands:INFO: agent_controller.py - RUNNING
ACTION
**CmdRunAction (source=EventSource.AGENT, is_input=False)**
COMMAND:
cd /w
python x.py
OBSERVATION
**CmdOutputObservation (source=EventSource.AGENT, exit code=2, metadata={"a": 1})**
--BEGIN AGENT OBSERVATION--
usage: x.py
--END AGENT OBSERVATION--
ACTION
**FileEditAction**
Path: [/w/x.py]
Content:
```
print(1)
```
14:03:00 - openhands:ERROR: RuntimeError: Agent reached maximum iteration.
AgentFinishAction(final_thought='It works.', outputs={})"""


def test_openhands() -> None:
    found = actions(steps(OPENHANDS))
    assert told(found) == [
        ("loose", 1, "", "14:02:11 - openhands:INFO: agent_controller.py - RUNNING", None),
        ("run", 5, "cd /w\npython x.py", "usage: x.py", 2),
        ("edit", 17, "print(1)", "", None),
        ("loose", 19, "", "14:03:00 - openhands:ERROR: RuntimeError: Agent reached maximum iteration.", None),
        ("say", 20, "AgentFinishAction(final_thought='It works.', outputs={})", "", None),
    ]
    assert found[2].target == "/w/x.py"


def test_shell_transcripts_and_lines_in_no_known_form() -> None:
    found = actions(steps("starting\n$ python x.py\n0.5\n[exit 3]\nagent@box:~/w$ ls\n(venv) $ pwd"))
    assert told(found) == [
        ("loose", 1, "", "starting", None),
        ("run", 2, "python x.py", "0.5\n[exit 3]", 3),
        ("run", 5, "ls", "", None),
        ("run", 6, "pwd", "", None),
    ]


@pytest.mark.parametrize(
    "odd",
    [{"type": "user", "message": {"content": "x"}}, {"item": {}}, {"message": {"content": [3]}}, {"item": 3}],
)
def test_events_of_other_shapes_do_no_harm(odd: dict[str, object]) -> None:
    assert actions(steps([odd])) == []


def test_events_of_the_runner_are_not_the_agents_doing() -> None:
    assert actions([Step(1, 1, 0.0, "", "$ python x.py")]) == []


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("python run.py --n 5", True),
        ("cd /w && python3.11 run.py | tee log", True),
        ("./run.sh", True),
        ("bash -lc 'python run.py'", True),
        ("python - <<'PY'\nprint(1)\nPY", True),
        ("python -m pkg.main", True),
        ("pip install numpy", False),
        ("python -m pip install numpy", False),
        ("python -c 'import numpy'", False),
        ("python --version", False),
        ("cat run.py", False),
        ("python -m py_compile run.py", False),
    ],
)
def test_what_is_an_experiment(text: str, yes: bool) -> None:
    assert is_experiment(Action(Kind.RUN, 1, text)) is yes


def test_which_actions_write_code_and_which_may_run_it() -> None:
    def run(text: str) -> Action:
        return Action(Kind.RUN, 1, text)

    assert edited_code(Action(Kind.EDIT, 1, "x", "/w/a.py")) == ["/w/a.py"]
    assert edited_code(Action(Kind.EDIT, 1, "x", "/w/README.md")) == []
    assert edited_code(run("cat > b.py <<'PY'\nx = 1\nPY")) == ["b.py"]
    assert edited_code(run("sed -i 's/a/b/' c.py && ls")) == ["c.py"]
    assert edited_code(run("apply_patch <<'E'\n*** Begin Patch\n*** Update File: src/d.py\n@@")) == [
        "src/d.py"
    ]
    assert edited_code(run("cat b.py")) == []
    assert may_run(run("sbatch job.slurm b.py"), "/w/b.py")
    assert not may_run(run("cat b.py"), "/w/b.py")
    assert not may_run(run("ls -la"), "/w/b.py")


def test_how_a_run_ended() -> None:
    def of(*texts: str) -> tuple[str, int | None]:
        found = ending([Step(n, n, 0.0, "", text) for n, text in enumerate(texts)])
        return found.termination, found.code

    assert of("started in docker", "exited with 3", "conclusion: none") == ("exited", 3)
    assert of("ended by signal 11") == ("exited", -11)
    assert of("timed_out: 3600 s") == ("timed_out", None)
    assert of("started in docker") == ("", None)
    assert ending([Step(1, 1, 0.0, "stdout", "exited with 0")]).termination == "", "the agent cannot tell"


@pytest.mark.parametrize("file", sorted(path.name for path in TRAJECTORIES.glob("*.jsonl")))
def test_streamed_actions_are_the_same(file: str) -> None:
    given = list(read((TRAJECTORIES / file).read_text().splitlines()))
    assert list(stream(given)) == actions(given)


def test_a_long_output_comes_in_pieces_and_a_late_one_is_not_waited_for() -> None:
    given = [Step(1, 1, 0, "stdout", "$ python run.py")]
    given += [Step(n, n, 0, "stdout", f"row {n}") for n in range(2, 10_002)]
    found = list(stream(given))
    assert [(action.text, len(action.lines)) for action in found] == [
        ("python run.py", 4096), ("python run.py", 4096), ("python run.py", 1808)
    ]  # fmt: skip
    assert [line.step for action in found for line in action.lines] == list(range(2, 10_002))
    given = [Step(n, n, 0, "stdout", f"$ echo {n}") for n in range(1, 2001)]
    assert [action.step for action in stream(given)] == list(range(1, 2001))


def test_steps_of_a_kind_say_what_the_agent_did() -> None:
    told: list[dict[str, object]] = [
        {"kind": "thought", "text": "I will measure it."},
        {"kind": "edit", "text": "+print(1)", "path": "a.py", "change": "add"},
        {"kind": "command", "text": "python a.py", "tool": "Bash", "call": "c1", "exit_code": 2},
        {"kind": "command", "text": '{"pattern": "x"}', "tool": "Grep", "call": "c2", "failed": True},
        {"kind": "output", "stream": "stdout", "text": "accuracy: 0.5", "call": "c1"},
        {"kind": "model", "text": "exited with 0", "model": {"status": 200}},
        {"kind": "conclusion", "text": "It is 0.5."},
    ]
    found = actions(list(read(json.dumps({"step": n, **one}) for n, one in enumerate(told, 1))))
    assert [(one.kind, one.step, one.target) for one in found] == [
        (Kind.SAY, 1, ""),
        (Kind.EDIT, 2, "a.py"),
        (Kind.RUN, 3, "Bash"),
        (Kind.USE, 4, "Grep"),
        (Kind.SAY, 7, ""),
    ]
    assert (found[2].code, found[2].output, found[3].failed) == (2, "accuracy: 0.5", True)


def test_json_that_a_program_prints_is_output() -> None:
    lines = ["$ python run.py", '{"accuracy": 0.5}', "done"]
    given = [Step(n, n, 0, "stdout", text) for n, text in enumerate(lines, 1)]
    (action,) = actions(given)
    assert action.output == '{"accuracy": 0.5}\ndone'


def test_output_after_a_command_that_it_does_not_name_belongs_to_nothing_before() -> None:
    given = [
        Step(1, 1, 0, "stdout", "loading"),
        Step(2, 2, 0, "", "python run.py", StepKind.COMMAND),
        Step(3, 3, 0, "stdout", "accuracy 0.5"),
    ]
    assert [(action.kind, action.output) for action in actions(given)] == [
        (Kind.LOOSE, "loading"), (Kind.RUN, ""), (Kind.LOOSE, "accuracy 0.5")
    ]  # fmt: skip
