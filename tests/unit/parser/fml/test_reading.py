"""FML-bench's layout is read with every fault told, and what a task lacks is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.fml.reading import MAX_FILE, read_fml
from firetrial_parser.fml.task import Definition
from firetrial_parser.kinds.repository import Repository, faults
from unit.parser.fml import layout
from unit.parser.fml.layout import NAME

OWN = f"ml_tasks/{NAME}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return layout.write(tmp_path)


def only(root: Path) -> Definition:
    (found,) = read_fml(root)
    return found


def told(root: Path) -> dict[str, str]:
    with pytest.raises(FiretrialError) as caught:
        read_fml(root)
    return {fault.field: fault.cure for fault in caught.value.faults}


def test_a_whole_task(root: Path) -> None:
    found = only(root)
    assert found.complete
    assert found.lacks == ("its data is not among its files: tiny",)
    assert found.question == "Your goal is less loss."
    assert found.instruction == "You work.\nA loop. Your goal is less loss."
    repository: Repository = found.repository
    assert repository.validation.command == ("python", "train.py", "--split", "val")
    assert repository.test is not None
    assert repository.test.measuring.command == ("python", "train.py", "--split", "test")
    assert [file.path for file in found.sealed] == ["data/unseen.csv"]
    assert repository.recipe == "dependencies: [numpy]\n"
    assert (repository.baseline_validation, repository.baseline_test) == (0.5, 0.6)
    assert repository.split is not None
    assert [s.name for s in repository.split.settings] == ["val_ratio", "val_seed"]
    assert not list(faults(repository))


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (f"{OWN}/train.py", f"its evaluation script is not here: {OWN}/train.py"),
        ("workspace/loop/model.py", "its target file is not here: model.py"),
        (
            f"{OWN}/environment.yml",
            "its environment is not here: conda's 'tiny', of which only the name is told",
        ),
        (f"{OWN}/baseline_results/test_info.json", "its baseline by test is not known"),
        (f"{OWN}/split_config.json", "the defaults of its split settings are not here: split_config.json"),
    ],
)
def test_what_is_missing_is_named(root: Path, gone: str, said: str) -> None:
    (root / gone).unlink()
    assert said in only(root).lacks


@pytest.mark.parametrize("path", [f"{OWN}/train.py", f"{OWN}/unseen.csv"])
def test_no_file_of_this_machine_is_taken_along_by_a_link(root: Path, path: str) -> None:
    (root / path).unlink()
    (root / path).symlink_to("/etc/passwd")
    assert f"its evaluation script is not here: {path}" in only(root).lacks
    assert not only(root).complete


def test_a_repository_behind_a_link_is_none(root: Path) -> None:
    (root / "workspace").rename(root / "elsewhere")
    (root / "workspace").symlink_to(root / "elsewhere")
    assert any("its repository is not here" in line for line in only(root).lacks)


def test_a_repository_at_another_commit(root: Path) -> None:
    (root / "workspace/loop/.git/refs/heads/main").write_text("f" * 40)
    assert any("and not at" in line for line in only(root).lacks)
    (root / "workspace/loop/.git/HEAD").write_text("ref: refs/../../../../etc/passwd")
    assert any("an unknown commit" in line for line in only(root).lacks)


def test_what_is_said_in_two_ways_is_named(root: Path) -> None:
    layout.change(root, metric="other_mean", pinned_commit="0123456", metric_direction="higher")
    lacks = "\n".join(only(root).lacks)
    for said in ("is not among those", "to be higher and, for its benchmark, None", "7 digits alone"):
        assert said in lacks


def test_a_task_without_known_anchors(tmp_path: Path) -> None:
    assert (
        "the best and the worst value of its metric are not known"
        in only(layout.write(tmp_path, "Tiny_loop")).lacks
    )


def test_every_fault_of_every_file(root: Path) -> None:
    layout.change(
        root,
        repo_dir="../../etc",
        pinned_commit=None,
        conda_env=5,
        target_files=["../a"],
        metric_direction="up",
    )
    (root / OWN / "prompt.json").write_text("[]")
    (root / OWN / "split_config.json").write_text('{"val_seed": "x", "val_seed2": 1e999}')
    (root / OWN / "baseline_results" / "val_info.json").write_text("x" * (MAX_FILE + 1))
    (root / OWN / "baseline_results" / "test_info.json").unlink()
    (root / OWN / "baseline_results" / "test_info.json").symlink_to("/etc/passwd")
    (root / "configs/tasks/other.yaml").write_text("benchmark: {name: Nowhere}\n")
    (root / "configs/tasks/odd.yaml").write_text("benchmark: {name: '../..'}\n")
    (root / "ml_tasks/Unnamed").mkdir()
    assert set(told(root)) == {
        f"{OWN}/config.json: repo_dir",
        f"{OWN}/config.json: pinned_commit",
        f"{OWN}/config.json: conda_env",
        f"{OWN}/config.json: target_files",
        f"{OWN}/config.json: metric_direction",
        f"{OWN}/prompt.json",
        f"{OWN}/prompt.json: system",
        f"{OWN}/prompt.json: task_description",
        f"{OWN}/split_config.json: val_seed",
        f"{OWN}/split_config.json: val_seed2",
        f"{OWN}/baseline_results/val_info.json",
        f"{OWN}/baseline_results/test_info.json",
        "configs/tasks, Nowhere",
        "configs/tasks/odd.yaml: benchmark.name",
        "ml_tasks/Unnamed",
    }


@pytest.mark.parametrize("direction", [["higher"], {"higher": 1}, None, 1])
def test_a_direction_that_is_no_text(root: Path, direction: object) -> None:
    layout.change(root, metric_direction=direction)
    assert {field.rpartition(" ")[2] for field in told(root)} == {"metric_direction"}


@pytest.mark.parametrize(
    "text",
    [
        "benchmark: [",
        "!!python/object/apply:os.system ['touch /tmp/x']",
        "a: 1\na: 2\n",
        "- a\n" + "  - b\n",
        "{" * 3000,
        "benchmark: {name: Causality_gcastle}\nmetrics: 5\n",
        "benchmark: {name: Causality_gcastle}\nmetrics: {include_datasets: tiny, include_metrics: [1]}\n",
        "benchmark: {name: Causality_gcastle}\nmetrics: {per_metric_direction: [1]}\n",
    ],
)
def test_hostile_configurations(root: Path, text: str) -> None:
    (root / "configs/tasks/tiny.yaml").write_text(text)
    assert all(field.startswith(("configs/tasks", "ml_tasks")) for field in told(root))


def test_aliases_that_multiply_are_read_once(root: Path) -> None:
    """Nine levels of ten references each: a billion, where they are spelt out."""
    levels = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    text = (root / "configs/tasks/tiny.yaml").read_text()
    (root / "configs/tasks/tiny.yaml").write_text("\n".join([*levels, text]))
    assert only(root).name == NAME


@pytest.mark.parametrize("name", ["config.json", "prompt.json"])
@pytest.mark.parametrize("text", ["", "{", "null", '{"a": NaN}', "[" * 100_000, '{"a": 1, "a": 2}'])
def test_hostile_json(root: Path, name: str, text: str) -> None:
    (root / OWN / name).write_text(text)
    assert any(field.startswith(f"{OWN}/{name}") for field in told(root))


def test_a_path_without_such_a_layout(tmp_path: Path) -> None:
    assert list(told(tmp_path)) == ["PATH"]
    with pytest.raises(FiretrialError) as caught:
        read_fml(tmp_path / "none")
    assert caught.value.reason is Reason.NOT_FOUND


@pytest.mark.needs("shared")
def test_all_eighteen(shared: Path) -> None:
    """Names, metrics, anchors, baselines, files: as the reference tells them."""
    reference = json.loads((shared / "firebench" / "fml.json").read_text())
    found = {definition.name: definition for definition in read_fml(shared / "fml")}
    assert found.keys() == {expected["task"] for expected in reference["tasks"]}
    for expected in reference["tasks"]:
        definition = found[expected["task"]]
        repository, metric = definition.repository, definition.repository.metric
        raw = "higher" if metric.higher_is_better else "lower"
        worst = "baseline" if metric.worst is None else metric.worst
        assert (metric.key, raw) == (expected["metric_key"], expected["direction_raw"])
        assert metric.direction == expected["direction_normalised"]
        assert (metric.best, worst) == (expected["p_best"], expected["p_worst"])
        assert metric.datasets == (expected["dataset_key"],)
        assert repository.baseline_validation == expected["baseline_val"]
        assert repository.baseline_test == expected["baseline_test"]
        assert list(repository.targets) == expected["target_files"]
        assert repository.environment == expected["conda_env"]
        settings = {s.name: s.default for s in repository.split.settings} if repository.split else None
        assert settings == expected["split_config"]
        assert not list(faults(repository, complete=False))
        config = json.loads((shared / "fml" / "ml_tasks" / definition.name / "config.json").read_text())
        assert repository.commit == config["pinned_commit"]
        assert any(line.startswith("its repository is not here") for line in definition.lacks)
        assert not definition.complete
    lines = {name for name, definition in found.items() if not definition.repository.validation.command}
    assert lines == {"Privacy_opacus", "Privacy_privacymeter"}
    for name, definition in found.items():
        if name not in lines:
            assert definition.repository.validation.command[0] == "python"
            assert definition.placed
