"""Command lines are taken apart without a shell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.fml.lines import Placed, take_apart

REPO = "workspace/A/repo"


def test_files_are_put_in_place_and_a_program_is_left() -> None:
    line = take_apart(
        "cp ../../../ml_tasks/A/main.py ./start.py && cp ../../../ml_tasks/A/x/utils.py ./lib/ && "
        "python start.py --name 'two words'",
        REPO,
    )
    assert line.placed == (
        Placed("ml_tasks/A/main.py", "start.py"),
        Placed("ml_tasks/A/x/utils.py", "lib/utils.py"),
    )
    assert line.command == ("python", "start.py", "--name", "two words")
    assert not line.faults


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mv a b 2>/dev/null; python train.py; true", "it needs a shell for `;` `>`"),
        ("python train.py || true", "`||`"),
        ("python train.py | tee log", "`|`"),
        ("python train.py &", "`&`"),
        ("(python train.py)", "`(`"),
        ("python $HOME/train.py", "for $"),
        ("python `which train.py`", "for `"),
        ("python *.py", "for *"),
        ("python a.py\npython b.py", "several lines"),
        ("python 'train.py", "No closing quotation"),
        ("", "it runs 0 programs"),
        ("&& &&", "it runs 0 programs"),
        ("python a.py && python b.py", "it runs 2 programs"),
        ("mkdir -p out && python a.py", "changes files while it runs"),
        ("python a.py && cp ../../../ml_tasks/A/b.py ./", "after its program"),
        ("cp -r ../../../ml_tasks/A/b ./ && python a.py", "copies more than one file"),
        ("cp results/a.json ./ && python a.py", "not of the task's own files"),
        ("cp ../../../../etc/passwd ./ && python a.py", "not of the task's own files"),
        ("cp /etc/passwd ./ && python a.py", "not of the task's own files"),
        ("cp ../../../ml_tasks/../.ssh/key ./ && python a.py", "not of the task's own files"),
        ("cp ../../../ml_tasks/A/b.py ../b.py && python a.py", "outside of the repository"),
        ("cp ../../../ml_tasks/A/b.py /b.py && python a.py", "outside of the repository"),
        ("python " + "a" * 20_001, "characters"),
    ],
)
def test_what_needs_a_shell_is_named(line: str, why: str) -> None:
    found = take_apart(line, REPO)
    assert not found.command
    assert any(why in fault for fault in found.faults), found.faults


@given(st.text(alphabet="cp mv../ml_tasksA&;|<>()$'\"\\`*-\n", max_size=60))
def test_whatever_a_line_says_nothing_leaves_its_folder(line: str) -> None:
    found = take_apart(line, REPO)
    assert bool(found.command) != bool(found.faults)
    for placed in found.placed:
        assert placed.origin.startswith("ml_tasks/")
        assert ".." not in (*placed.origin.split("/"), *placed.path.split("/"))
        assert not placed.path.startswith("/")
