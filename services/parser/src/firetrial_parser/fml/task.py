"""A task definition of FML-bench: what its files say, and what it lacks to be run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from firetrial_kit.errors import Fault
from firetrial_kit.improvement import Direction, neg_log10, number, primary_metric
from firetrial_parser.fml.lines import Line, Placed, take_apart
from firetrial_parser.kinds.repository import (
    Measuring,
    Metric,
    Repository,
    SealedTest,
    Setting,
    Split,
    Transform,
    is_plain,
)
from firetrial_parser.prose import sentences

SPLIT = "split_config.json"
ENVIRONMENTS = ("environment.yml", "environment.yaml", "requirements.txt")
_SHORT = 40  # hex digits of a whole commit


@dataclass(frozen=True, slots=True)
class Told:
    """What the files of one task say, as they were read; `texts` are files of its environment."""

    name: str
    benchmark: Mapping[str, Any]
    config: Mapping[str, Any]
    prompt: Mapping[str, Any]
    split: Mapping[str, Any] | None
    validation: Mapping[str, Any] | None
    test: Mapping[str, Any] | None
    environment: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A task as it is taken in. `folder` is where its repository would lie, `lacks` says what is missing.

    `placed` are files that its validation puts in place, `sealed` those that its test alone does.
    """

    name: str
    question: str
    instruction: str
    repository: Repository
    folder: str
    placed: tuple[Placed, ...]
    sealed: tuple[Placed, ...]
    test_command: tuple[str, ...]
    complete: bool
    lacks: tuple[str, ...]

    @property
    def slug(self) -> str:
        return self.name.lower().replace("_", "-")[:64].strip("-")


@cache
def facts() -> dict[str, Any]:
    """What no file of a task says: the scorer's anchors and transforms, and the bounds of split settings."""
    told: dict[str, Any] = json.loads((files("firetrial_parser.fml") / "facts.json").read_text("utf-8"))
    return told


_TEXTS = (
    "repo_dir",
    "pinned_commit",
    "conda_env",
    "val_command",
    "test_command",
    "metric",
    "metric_direction",
)


def form_faults(told: Told) -> Iterator[Fault]:
    """What is not of the form that the benchmark documents, all of it."""
    folder = f"ml_tasks/{told.name}"
    yield from _text_faults(f"{folder}/config.json", told.config, _TEXTS)
    yield from _config_faults(f"{folder}/config.json", told.config)
    yield from _text_faults(f"{folder}/prompt.json", told.prompt, ("system", "task_description"))
    yield from _metrics_faults(told)
    yield from _split_faults(told)


def _text_faults(at: str, table: Mapping[str, Any], keys: Sequence[str]) -> Iterator[Fault]:
    for key in keys:
        if not isinstance(table.get(key), str) or not table[key].strip():
            yield Fault(f"{at}: {key}", _shown(table.get(key)), "must be a text")


def _config_faults(at: str, config: Mapping[str, Any]) -> Iterator[Fault]:
    targets = config.get("target_files")
    if not _texts(targets) or not targets:
        yield Fault(f"{at}: target_files", _shown(targets), "must be a list of at least one path")
        targets = []
    for path in targets:
        if not is_plain(path):
            yield Fault(f"{at}: target_files", path[:80], "must be a path below the repository")
    if isinstance(repo := config.get("repo_dir"), str) and not is_plain(repo):
        yield Fault(f"{at}: repo_dir", repo[:80], "must be a path below the benchmark's folder")
    if (direction := config.get("metric_direction")) not in [*Direction]:
        yield Fault(f"{at}: metric_direction", _shown(direction), "must be higher or lower")


def _metrics_faults(told: Told) -> Iterator[Fault]:
    at = f"configs/tasks, {told.name}: metrics"
    metrics = told.benchmark.get("metrics")
    if not isinstance(metrics, dict):
        yield Fault(at, _shown(metrics), "must be a mapping")
        return
    for key in ("include_datasets", "include_metrics"):
        if not _texts(metrics.get(key)):
            yield Fault(f"{at}.{key}", _shown(metrics.get(key)), "must be a list of names")
    if not isinstance(metrics.get("per_metric_direction") or {}, dict):
        yield Fault(
            f"{at}.per_metric_direction", _shown(metrics["per_metric_direction"]), "must be a mapping"
        )


def _split_faults(told: Told) -> Iterator[Fault]:
    for key, value in (told.split or {}).items():
        if number(value) is None:
            yield Fault(f"ml_tasks/{told.name}/{SPLIT}: {key}", _shown(value), "must be a number")


def define(told: Told, here: Here) -> Definition:
    """The task of files whose form is in order; `here` says which of the files that it names there are."""
    config = told.config
    lines = {split: take_apart(config[f"{split}_command"], config["repo_dir"]) for split in ("val", "test")}
    placed = lines["val"].placed
    sealed = tuple(file for file in lines["test"].placed if file not in placed)
    missing = list(_missing(told, (*placed, *sealed), here))
    complete = here.repository is not None and not missing and bool(lines["val"].command)
    test = _test(lines["test"]) if complete and sealed else None
    repository = _repository(told, Measuring(lines["val"].command), test)
    prompt = f"{told.prompt['system']}\n{told.prompt['task_description']}"
    return Definition(
        name=told.name,
        question=_question(told.prompt["task_description"]),
        instruction=prompt,
        repository=repository,
        folder=config["repo_dir"],
        placed=placed,
        sealed=sealed,
        test_command=lines["test"].command,
        complete=complete,
        lacks=(
            *_lacks(told, repository, here),
            *missing,
            *_command_lacks(lines, sealed),
            *_open(told, repository),
        ),
    )


def _repository(told: Told, validation: Measuring, test: SealedTest | None) -> Repository:
    config, metric = told.config, _metric(told)
    return Repository(
        origin=config["repo_dir"].rpartition("/")[2],
        commit=config["pinned_commit"],
        targets=tuple(config["target_files"]),
        protected=(),
        validation=validation,
        metric=metric,
        baseline_validation=_baseline(told.validation, metric),
        baseline_test=_baseline(told.test, metric),
        split=_split(told),
        max_steps=facts()["max_steps"],
        environment=config["conda_env"],
        recipe=told.environment,
        test=test,
    )


@dataclass(frozen=True, slots=True)
class Here:
    """What lies below the root of the layout: `repository` is the commit that is checked out there.

    It is None where there is no repository, and "" where its commit cannot be told.
    """

    root: Path
    repository: str | None

    def has(self, path: str) -> bool:
        return (self.root / path).is_file() and not behind_a_link(self.root, path)


def behind_a_link(root: Path, path: str) -> bool:
    """Whether a path below `root` is a link or leads through one: it could be any file of this machine."""
    whole = root / path
    parts = [whole, *whole.parents]
    return any(part.is_symlink() for part in parts[: parts.index(root)])


def _metric(told: Told) -> Metric:
    known = facts()["tasks"].get(told.name, {})
    transform = Transform(known.get("transform", Transform.NONE))
    direction = Direction(told.config["metric_direction"])
    if transform is Transform.NEGATIVE_LOG10:
        direction = Direction.LOWER if direction is Direction.HIGHER else Direction.HIGHER
    return Metric(
        key=told.config["metric"],
        datasets=tuple(told.benchmark["metrics"]["include_datasets"]),
        direction=direction,
        best=known.get("best", float("nan")),
        worst=known.get("worst"),
        transform=transform,
        results_file=facts()["results"]["validation"],
    )


def _baseline(results: Mapping[str, Any] | None, metric: Metric) -> float | None:
    return None if results is None else primary_metric(results, metric.key, metric.datasets)


def _split(told: Told) -> Split | None:
    if told.split is None or SPLIT not in told.config["target_files"]:
        return None
    bounds = facts()["split"]
    settings = [
        Setting(name, float(value), float(bound["least"]), float(bound["most"]), bound["whole"])
        for name, value in told.split.items()
        if (bound := bounds.get(name)) is not None
    ]
    return Split(SPLIT, tuple(settings)) if settings else None


def _question(description: str) -> str:
    """The sentence that names the goal, else the first."""
    told = sentences(description)
    return next(
        (sentence for sentence in told if "goal is" in sentence.lower()), told[0] if told else description
    )


def _test(line: Line) -> SealedTest | None:
    return SealedTest(Measuring(line.command), facts()["results"]["test"]) if line.command else None


def _lacks(told: Told, repository: Repository, here: Here) -> Iterator[str]:
    """What a run of the task would need and does not find."""
    config, commit = told.config, repository.commit
    if here.repository is None:
        yield f"its repository is not here: {config['repo_dir']} at {commit}"
    elif not here.repository.startswith(commit):
        yield f"its repository lies at {here.repository or 'an unknown commit'} and not at {commit}"
    if len(commit) < _SHORT:
        yield f"its commit is given by {len(commit)} digits alone: {commit}"
    if not told.environment:
        yield f"its environment is not here: conda's {config['conda_env']!r}, of which only the name is told"
    yield f"its data is not among its files: {', '.join(repository.metric.datasets)}"


def _missing(told: Told, placed: tuple[Placed, ...], here: Here) -> Iterator[str]:
    """Files that the definition names."""
    for file in placed:
        if not here.has(file.origin):
            yield f"its evaluation script is not here: {file.origin}"
    for path in told.config["target_files"]:
        folders = (told.config["repo_dir"], f"ml_tasks/{told.name}")
        if not any(here.has(f"{folder}/{path}") for folder in folders):
            yield f"its target file is not here: {path}"


def _command_lacks(lines: Mapping[str, Line], sealed: tuple[Placed, ...]) -> Iterator[str]:
    for split, name in (("val", "validation"), ("test", "test")):
        yield from (f"its {name} command cannot be taken over: {fault}" for fault in lines[split].faults)
    if not lines["test"].faults and not sealed:
        yield "its test is not kept apart: it needs no file that its validation lacks"


def _open(told: Told, repository: Repository) -> Iterator[str]:
    """What the definition leaves open, or says in two ways."""
    metrics = told.benchmark["metrics"]
    if told.name not in facts()["tasks"]:
        yield "the best and the worst value of its metric are not known"
    if repository.metric.key not in metrics["include_metrics"]:
        known = ", ".join(metrics["include_metrics"])
        yield f"its metric {repository.metric.key} is not among those of its benchmark: {known}"
    direction = (metrics.get("per_metric_direction") or {}).get(repository.metric.key)
    if direction != told.config["metric_direction"]:
        yield f"its metric is to be {told.config['metric_direction']} and, for its benchmark, {direction}"
    for name, value in (("validation", repository.baseline_validation), ("test", repository.baseline_test)):
        if value is None:
            yield f"its baseline by {name} is not known"
        elif repository.metric.transform is Transform.NEGATIVE_LOG10 and neg_log10(value) is None:
            yield f"its baseline by {name} has no logarithm: {value}"
    unknown = [name for name in told.split or {} if name not in facts()["split"]]
    if unknown:
        yield f"the bounds of its split settings are not known: {', '.join(unknown)}"
    if told.split is None and SPLIT in repository.targets:
        yield f"the defaults of its split settings are not here: {SPLIT}"


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _shown(value: object) -> str:
    return "missing" if value is None else str(value)[:80]
