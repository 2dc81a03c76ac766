"""The program: help without gRPC, errors with their exit codes, commands of plugins."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from firetrial.parser.v1 import task_pb2
from firetrial_client.cli import main, plugins
from firetrial_kit import errors as kit
from unit.client.cli.conftest import Call
from unit.client.fakes import Server, World, refuse


def test_help_is_quick_and_loads_no_grpc() -> None:
    code = (
        "import sys; sys.argv = ['firetrial', '--help']; from firetrial_client.cli.main import cli\n"
        "try: cli.main()\n"
        "except SystemExit: print('loaded:', *sorted({'grpc', 'rich', 'google.protobuf'} & set(sys.modules)))"
    )
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert "Exit codes:" in done.stdout
    assert done.stdout.endswith("loaded:\n")
    assert min(spent) < 0.5  # processor seconds, so that a busy machine does not count


@pytest.mark.parametrize("name", list(main._COMMANDS))
def test_every_command_is_where_it_is_said_to_be(name: str, firetrial: Call) -> None:
    module, _, attribute = main._COMMANDS[name][0].partition(":")
    command = getattr(import_module(module), attribute)
    assert command.name == name
    assert "Usage:" in firetrial(name, "--help").output
    assert main._COMMANDS[name][1] in firetrial("--help").output


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if isinstance(command, click.Group):
        return [leaf for name, sub in command.commands.items() for leaf in leaves(sub, (*path, name))]
    return [path]


def own_leaves() -> list[tuple[str, ...]]:
    found = []
    for name, (where, _) in main._COMMANDS.items():
        module, _, attribute = where.partition(":")
        found += [(name, *leaf) for leaf in leaves(getattr(import_module(module), attribute))]
    return found


@pytest.mark.parametrize("path", own_leaves(), ids=" ".join)
def test_json_on_everything(path: tuple[str, ...], firetrial: Call) -> None:
    assert "--json" in firetrial(*path, "--help").output


def test_errors_are_words_on_standard_error(firetrial: Call) -> None:
    result = firetrial("tasks", "show", "t-none", code=4)
    assert result.stdout == ""
    assert result.stderr == "Error: there is no task 't-none'\n"


def test_errors_are_json_on_standard_output(answer: Any) -> None:
    assert answer("tasks", "show", "t-none", code=4) == {
        "error": {"reason": "NOT_FOUND", "message": "there is no task 't-none'", "faults": []}
    }
    usage = answer("tasks", "show", code=2)["error"]
    assert usage["reason"] == "INVALID"
    assert "TASK" in usage["message"]


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (kit.Reason.NOT_YET, 3),
        (kit.Reason.DENIED, 6),
        (kit.Reason.UNAUTHENTICATED, 6),
        (kit.Reason.UNAVAILABLE, 5),
        (kit.Reason.INTERNAL, 1),
        (kit.Reason.TOO_LARGE, 2),
    ],
)
def test_exit_codes(reason: kit.Reason, code: int, firetrial: Call, world: World) -> None:
    world.get_run = lambda _, context: refuse(context, kit.FiretrialError(reason, "no"))
    firetrial("runs", "show", "r-1", code=code)


def test_every_fault_is_told(firetrial: Call, answer: Any) -> None:
    args = ("submit", "experiment", "--agent-command", "true", "--task", "t-1", "--task", "t-2")
    result = firetrial(*args, code=4)
    assert "task_ids[0] is 't-1'" in result.stderr
    assert "task_ids[1] is 't-2'" in result.stderr
    assert [fault["field"] for fault in answer(*args, code=4)["error"]["faults"]] == [
        "task_ids[0]", "task_ids[1]",
    ]  # fmt: skip


def test_a_server_that_is_down(firetrial: Call, server: Server) -> None:
    server.stop()
    result = firetrial("tasks", "list", code=5)
    assert server.endpoint in result.stderr
    assert "firetrial up" in result.stderr


def test_no_server_is_known(firetrial: Call) -> None:
    result = firetrial("tasks", "list", code=5, env={"FIRETRIAL_ENDPOINT": ""})
    assert "firetrial up -d" in result.stderr


def test_the_endpoint_as_an_option(firetrial: Call, server: Server) -> None:
    firetrial("--endpoint", server.endpoint, "tasks", "list", env={"FIRETRIAL_ENDPOINT": "127.0.0.1:1"})
    assert "host:port" in firetrial("--endpoint", "nowhere", "tasks", "list", code=2).stderr


def test_a_reader_that_has_seen_enough_is_no_error(server: Server, world: World) -> None:
    for number in range(1500):
        world.tasks[f"t-{number}"] = task_pb2.Task(id=f"t-{number}", question="x" * 100)
    program = subprocess.Popen(
        [sys.executable, "-m", "firetrial_client", "tasks", "list"],
        env={**os.environ, "FIRETRIAL_ENDPOINT": server.endpoint},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert program.stdout is not None
    assert program.stdout.readline().startswith(b"TASK")
    program.stdout.close()
    program.wait(30)
    assert program.stderr is not None
    assert b"Traceback" not in program.stderr.read()
    program.stderr.close()


def test_completion_knows_commands_and_options() -> None:
    def complete(*words: str) -> str:
        environ = {
            **os.environ,
            "_FIRETRIAL_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["firetrial", *words]),
            "COMP_CWORD": str(len(words)),
        }
        argv = [sys.executable, "-m", "firetrial_client"]
        return subprocess.run(argv, env=environ, capture_output=True, text=True, check=False).stdout

    assert "plain,papers" in complete("pa")
    assert "plain,show" in complete("tasks", "")
    assert "plain,--agent-command" in complete("run", "--agent")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, firetrial: Call, answer: Any) -> None:
    assert "_FIRETRIAL_COMPLETE" in firetrial("completion", shell).output
    assert answer("completion", shell)["shell"] == shell


def group(name: str, *subcommands: str) -> click.Group:
    return click.Group(name, {sub: click.Command(sub) for sub in subcommands})


def test_groups_of_one_name_share_their_subcommands() -> None:
    one, two = group("judge", "text"), group("judge", "pairs", "text")
    both = plugins.merged([one, two])
    assert isinstance(both, click.Group)
    assert both.commands == {"text": one.commands["text"], "pairs": two.commands["pairs"]}
    alone = click.Command("score")
    assert plugins.merged([alone, group("score", "x")]) is alone


def test_a_services_own_error_is_explained_too() -> None:
    error = kit.invalid("the file", [kit.Fault("lines[3]", "x", "a label")])
    assert isinstance(error, plugins.errors())
    assert plugins.told(error) == {
        "reason": "INVALID",
        "message": "the file is not valid: lines[3] is 'x': a label",
        "faults": [
            {"field": "lines[3]", "description": "lines[3] is 'x': a label", "value": "x", "cure": "a label"}
        ],
    }


SCORE = '{"answer2response": ["maybe"], "response2answer": [7]}'
TREE = "{id: r, children: [{id: q, weight: -1}, {id: p, question: '?', condition: C9}]}"
METRICS = '{"embeddings": [[1, "x"]], "val_primary_metrics": []}'
SPOILED: dict[tuple[str, ...], str] = {
    ("score",): SCORE,
    ("judge", "pairs"): '{"id": 1}\n{"id": "a", "premise": 2, "hypothesis": "h"}',
    ("judge", "calibrate"): '{"id": "1", "reference": "", "claim": "c", "label": "perhaps"}',
    ("rubric", "score"): TREE,
    ("process-metrics",): METRICS,
}


@pytest.mark.parametrize("command", SPOILED, ids=" ".join)
def test_faults_that_a_services_command_finds_are_told_by_field_value_and_cure(
    command: tuple[str, ...], firetrial: Call, answer: Any, tmp_path: Path
) -> None:
    (tmp_path / "spoiled").write_text(SPOILED[command])
    document = answer(*command, "spoiled", code=2)
    faults = document["faults"] if command == ("rubric", "score") else document["error"]["faults"]
    assert faults
    for fault in faults:
        assert {"field", "value", "cure"} <= set(fault)
        assert fault["field"]
        assert fault["cure"]
    words = firetrial(*command, "spoiled", code=2).stderr
    assert all(fault["cure"] in words for fault in faults)


@pytest.mark.parametrize(
    "command",
    [
        ("score",),
        ("judge", "pairs"),
        ("judge", "calibrate"),
        ("rubric", "agreement", "absent"),
        ("process-metrics",),
    ],
    ids=" ".join,
)
def test_a_file_that_is_not_there_is_a_fault_of_its_own(command: tuple[str, ...], answer: Any) -> None:
    error = answer(*command, "absent", code=2)["error"]
    assert error["reason"] == "INVALID"
    assert [(fault["field"], fault["value"]) for fault in error["faults"]] == [("FILE", "absent")]
    assert "No such file" in error["faults"][0]["cure"]


def test_a_plugin_that_cannot_be_loaded_harms_nobody(tmp_path: Path) -> None:
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[firetrial.commands]\nbroken = no_such_module:commands\n")
    done = subprocess.run(
        [sys.executable, "-m", "firetrial_client", "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "the commands of 'broken' cannot be loaded" in done.stderr
    assert "Exit codes" in done.stdout


def test_plugins_are_told_how_to_store_a_task(
    server: Server, world: World, firetrial: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An import plugin stores through `ctx.obj`, or learns that it cannot."""

    @click.command("thing")
    @click.pass_context
    def thing(ctx: click.Context) -> None:
        submit = ctx.obj["submit_task"]
        told = submit and submit(
            slug="noise", question="How?", instruction="Find out.", ground_truth="So.", broken=["no seed"],
            origin="elsewhere", data=None,
        )  # fmt: skip
        click.echo(json.dumps(told))

    importing = click.Group("import", {"thing": thing})
    monkeypatch.setattr(plugins, "commands", lambda: {"import": [importing]})
    id_, version = json.loads(firetrial("import", "thing").output)
    assert list(world.tasks) == [id_]
    assert id_.endswith(version)
    assert firetrial("import", "thing", env={"FIRETRIAL_ENDPOINT": ""}).output == "null\n"
