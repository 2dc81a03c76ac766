"""The demo's repositories are what they say, and their agents do what they are named for, without a server.

The steps of the agents are taken out of them and measured as a runner would, validation and test apart.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from firetrial_client import demo, task_folders

TABULAR, LOOP = demo.repositories()
TOLD = {folder: task_folders.read(folder) for folder in (TABULAR, LOOP)}


def measured(folder: Path, at: Path, files: dict[str, str], *, test: bool = False) -> float | None:
    """The metric with these texts, None where a command fails: in two folders, as in two sandboxes."""
    header, first, second = TOLD[folder], at / "first", at / "second"
    for part in (first, second):
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(folder / "source", part)
    for name, text in files.items():
        (first / name).write_text(text)
    if test:
        shutil.copytree(folder / "sealed" / "files", first, dirs_exist_ok=True)
        shutil.copytree(folder / "sealed" / "score", second, dirs_exist_ok=True)
    command = header.test.command if test else header.repository.validation_command
    if not ran(command, first):
        return None
    for name in header.repository.outputs:
        shutil.copy(first / name, second / name)
    if not ran(header.repository.score_command, second):
        return None
    metric = header.repository.metric
    (dataset,) = json.loads((second / metric.results_file).read_text()).values()
    return float(dataset["means"][metric.key])


def ran(command: Any, folder: Path) -> bool:
    done = subprocess.run([sys.executable, *command[1:]], cwd=folder, capture_output=True)
    return done.returncode == 0


def agent(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path, at: Path) -> dict[str, Any]:
    """The names of an agent's program; what the runner's sandbox gives it is stood in for."""
    provided = ModuleType("firetrial_step")
    provided.hand_in = lambda *_: pytest.fail("it is not run here")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "firetrial_step", provided)
    shutil.copytree(folder / "source", at / "repo", dirs_exist_ok=True)
    monkeypatch.setenv("FIRETRIAL_REPOSITORY", str(at / "repo"))
    return runpy.run_path(str(next(path for path in demo.improvers() if path.name == name) / "agent.py"))


@pytest.mark.parametrize("folder", TOLD, ids=lambda folder: folder.name)
def test_the_baselines_are_those_that_are_told(folder: Path, tmp_path: Path) -> None:
    spec = TOLD[folder].repository
    assert measured(folder, tmp_path, {}) == pytest.approx(spec.baseline_validation)
    assert measured(folder, tmp_path, {}, test=True) == pytest.approx(spec.baseline_test)


def test_the_data_are_what_their_process_makes(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    shutil.copy(TABULAR.parent / "make_data.py", made)
    subprocess.run([sys.executable, "make_data.py"], cwd=made, check=True, env={**os.environ})
    found = sorted(path.relative_to(made) for path in made.rglob("*.csv"))
    assert len(found) == 7
    for path in found:
        assert (made / path).read_bytes() == (TABULAR.parent / path).read_bytes(), path


def test_no_label_of_a_test_lies_in_a_source() -> None:
    for folder in TOLD:
        rows = {
            line.partition(",")[2]
            for line in (folder / "sealed/files/data/unseen.csv").read_text().split()[1:]
        }
        for path in (folder / "source" / "data").iterdir():
            seen = {line.partition(",")[2].rpartition(",")[0] for line in path.read_text().split()[1:]}
            assert not rows & seen


def test_one_agent_improves_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = agent("repository_improves", monkeypatch, TABULAR, tmp_path)["STEPS"]
    tabular, loop = TOLD[TABULAR].repository, TOLD[LOOP].repository
    best = measured(TABULAR, tmp_path, {"pipeline.py": steps["pipeline.py"][-1][1]}, test=True)
    assert best is not None
    assert best > tabular.baseline_test + 0.15
    best = measured(LOOP, tmp_path, {"loop.py": steps["loop.py"][-1][1]}, test=True)
    assert best is not None
    assert best < loop.baseline_test - 0.25


def test_one_agent_only_breaks_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = agent("repository_breaks", monkeypatch, TABULAR, tmp_path)["STEPS"]
    for folder, target in ((TABULAR, "pipeline.py"), (LOOP, "loop.py")):
        assert [measured(folder, tmp_path, {target: text}) for _, text in steps[target]] == [None, None]


def test_one_agent_is_worse_in_the_test_than_in_the_validation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (_, files) = agent("repository_overfits", monkeypatch, TABULAR, tmp_path / "t")["pipelines"]()[-1]
    spec = TOLD[TABULAR].repository
    setting = {field.name: field for field in spec.split.fields}
    for name, value in json.loads(files["split.json"]).items():
        assert setting[name].least <= value <= setting[name].most
    validation, test = (measured(TABULAR, tmp_path, files, test=test) or 0.0 for test in (False, True))
    assert validation > spec.baseline_validation + 0.2
    assert test < spec.baseline_test + 0.02
    (_, files) = agent("repository_overfits", monkeypatch, LOOP, tmp_path / "l")["loops"]()[-1]
    spec = TOLD[LOOP].repository
    validation, test = (measured(LOOP, tmp_path, files, test=test) or 9.9 for test in (False, True))
    assert validation < spec.baseline_validation - 0.2
    assert test > spec.baseline_test - 0.02


@pytest.mark.parametrize(
    ("folder", "name", "text"),
    [
        (TABULAR, "guesses.csv", "0,1\n" * 60),
        (TABULAR, "guesses.csv", "0,1\n"),
        (TABULAR, "guesses.csv", "".join(f"{n},1\n" for n in range(5000, 5060))),
        (LOOP, "probabilities.csv", "".join(f"{n},1,1,1\n" for n in range(60))),
        (LOOP, "probabilities.csv", "".join(f"{n},nan,0,1\n" for n in range(60))),
        (LOOP, "probabilities.csv", "0,1,0,0\n"),
    ],
)
def test_outputs_of_strangers_are_checked(folder: Path, name: str, text: str, tmp_path: Path) -> None:
    shutil.copytree(folder / "source", tmp_path / "second")
    (tmp_path / "second" / name).write_text(text)
    assert not ran(TOLD[folder].repository.score_command, tmp_path / "second")
