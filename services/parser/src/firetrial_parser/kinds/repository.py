"""A repository to be improved: what its task says, and everything that can be wrong with it.

Paths are relative to the source's folder. A number that is None is unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath

from firetrial_kit.errors import Fault
from firetrial_kit.improvement import Direction

MAX_STEPS = 1000
MAX_SECONDS = 7 * 24 * 3600
MAX_RECIPE = 64 * 1024
_MAX_FILES = 200
_MAX_ARGUMENTS = 200
_MAX_ARGUMENT = 4096
_MAX_NAME = 200
_MAX_FIELDS = 20
_MAX_OUTPUTS = 20
_TOLD = 20
_ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"})
# Reading one of these runs what is in it.
_RUNS = frozenset({".pkl", ".pickle", ".joblib", ".pt", ".pth", ".py", ".pyc", ".so"})


class Transform(StrEnum):
    """What is done with values before they are compared."""

    NONE = "none"
    NEGATIVE_LOG10 = "neg_log10"


@dataclass(frozen=True, slots=True)
class Metric:
    """The figure of a results file that is to be improved.

    `worst` None is the baseline. `direction` is that of the transformed values.
    """

    key: str
    datasets: tuple[str, ...]
    direction: Direction | None
    best: float
    worst: float | None
    transform: Transform | None
    results_file: str

    @property
    def higher_is_better(self) -> bool:
        """Of values as they are measured: -log10 turns their order around."""
        return (self.direction is Direction.HIGHER) is not (self.transform is Transform.NEGATIVE_LOG10)


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of the split, and the values that are allowed for it, both ends included."""

    name: str
    default: float
    least: float
    most: float
    whole: bool


@dataclass(frozen=True, slots=True)
class Split:
    """The target file, JSON, by which an agent may set how visible data is split."""

    file: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a figure is made: a command that leaves results, or one that leaves outputs for another to score.

    `seconds` bounds each command; 0 is the runner's default.
    """

    command: tuple[str, ...]
    score_command: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SealedTest:
    """The test that runs when the agent has ended, and the file that it leaves its results in."""

    measuring: Measuring
    results_file: str


@dataclass(frozen=True, slots=True)
class Repository:
    """What may change, how a change is validated, what its number means. `max_steps` 0 is the default."""

    origin: str
    commit: str
    targets: tuple[str, ...]
    protected: tuple[str, ...]
    validation: Measuring
    metric: Metric
    baseline_validation: float | None = None
    baseline_test: float | None = None
    split: Split | None = None
    max_steps: int = 0
    environment: str = ""
    recipe: str = ""
    test: SealedTest | None = None

    @property
    def identity(self) -> dict[str, object]:
        """All of it as JSON values, for the hash of a task."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Contents:
    """The parts of an upload: path → sha256 of each file.

    `files` are laid over the source for the test, `score` over the pinned source for what scores it.
    """

    source: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    score: Mapping[str, str] = field(default_factory=dict)


def faults(told: Repository, *, complete: bool = True) -> Iterator[Fault]:
    """What is wrong with what a task says, all of it.

    Without `complete` it is a definition that lacks parts and says so: then a command may be missing.
    """
    yield from _path_faults(told)
    yield from _measuring_faults("repository", told.validation, "validation_command", complete=complete)
    yield from _metric_faults(told.metric)
    yield from _baseline_faults(told)
    if told.split is not None:
        yield from _split_faults(told.split, told.targets)
    if not 0 <= told.max_steps <= MAX_STEPS:
        yield Fault(
            "repository.max_steps", str(told.max_steps), f"must be 0 to {MAX_STEPS}; 0 is the default"
        )
    if told.environment and not _ENVIRONMENT.fullmatch(told.environment):
        yield Fault("repository.environment", told.environment, f"must be {_ENVIRONMENT.pattern}, or empty")
    if len(told.recipe) > MAX_RECIPE:
        yield Fault("repository.recipe", f"{len(told.recipe)} characters", f"at most {MAX_RECIPE}")
    if told.test is not None:
        yield from _plain("test.results_file", [told.test.results_file])
        yield from _measuring_faults("test", told.test.measuring, "command")


def content_faults(told: Repository, found: Contents) -> Iterator[Fault]:
    """Where what a task says does not fit the files that it brings, all of it."""
    for name, paths in (("target_files", told.targets), ("protected_files", told.protected)):
        missing = [path for path in paths if path not in found.source]
        yield from _each(f"repository.{name}", missing, "is no file of source/")
    written = _written(told)
    yield from _each("source", written & found.source.keys(), "is written by a command: leave it out")
    yield from _clashes("source", found.source)
    history = [path for path in found.source if ".git" in PurePosixPath(path).parts]
    yield from _each(
        "source", history[:1], "is of a repository's history, which may hold the answer: leave it out"
    )
    yield from _sealed_faults(told, found)


def _sealed_faults(told: Repository, found: Contents) -> Iterator[Fault]:
    test, sealed = told.test, {**found.score, **found.files}
    if test is None:
        yield from _each("sealed", sealed, "is sealed, but the task has no `test`: name its command")
        return
    if not sealed:
        yield Fault("sealed", "no files", "must hold what the test needs and no agent may see")
    scores = bool(test.measuring.score_command)
    if scores and not found.score:
        yield Fault("sealed/score", "no files", "must hold what test.score_command scores by")
    if found.score and not scores:
        yield Fault(
            "sealed/score", _some(found.score), "goes with a test.score_command: set it, or use sealed/files"
        )
    for name, part in (("sealed/files", found.files), ("sealed/score", found.score)):
        yield from _clashes(name, part)
        yield from _each(
            name, part.keys() & {*told.targets}, "is a target: the agent's own text would be replaced"
        )
        yield from _each(name, part.keys() & _written(told), "is written by a command: leave it out")
        yield from _seen(name, part, "source", found.source)
    # Code of the agent runs beside sealed/files, and must find no label there.
    yield from _seen("sealed/score", found.score, "sealed/files", found.files)


def _seen(name: str, part: Mapping[str, str], open_: str, files: Mapping[str, str]) -> Iterator[Fault]:
    """Sealed files that an agent could read: the same bytes lie in the open. Empty files say nothing."""
    shown = {hash_: path for path, hash_ in files.items()}
    for path, hash_ in [pair for pair in part.items() if pair[1] in shown and pair[1] != _EMPTY][:_TOLD]:
        yield Fault(
            f"{name}/{path}", f"the same as {open_}/{shown[hash_]}", "must not be where agents can read it"
        )


_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # sha256 of no bytes


def _written(told: Repository) -> frozenset[str]:
    """What commands write."""
    test = told.test
    of_test = (test.results_file, *test.measuring.outputs) if test else ()
    return frozenset({told.metric.results_file, *told.validation.outputs, *of_test})


def _path_faults(told: Repository) -> Iterator[Fault]:
    if not told.targets:
        yield Fault("repository.target_files", "none", "must name at least one file that may change")
    for name, paths in (("target_files", told.targets), ("protected_files", told.protected)):
        yield from _plain(f"repository.{name}", paths)
        if len(paths) > _MAX_FILES:
            yield Fault(f"repository.{name}", f"{len(paths)} files", f"at most {_MAX_FILES}")
    both = {*told.targets} & {*told.protected}
    yield from _each("repository.protected_files", both, "is a target: a file may change or it may not")
    yield from _each("repository.target_files", {*told.targets} & _written(told), "is written by a command")


def _measuring_faults(of: str, told: Measuring, command: str, *, complete: bool = True) -> Iterator[Fault]:
    yield from _command_faults(f"{of}.{command}", told.command, needed=complete)
    yield from _command_faults(f"{of}.score_command", told.score_command, needed=False)
    if bool(told.score_command) != bool(told.outputs):
        yield Fault(
            f"{of}.outputs", ", ".join(told.outputs), "goes with a score_command: give both or neither"
        )
    yield from _plain(f"{of}.outputs", told.outputs)
    if len(told.outputs) > _MAX_OUTPUTS:
        yield Fault(f"{of}.outputs", f"{len(told.outputs)} files", f"at most {_MAX_OUTPUTS}")
    running = [path for path in told.outputs if PurePosixPath(path).suffix in _RUNS]
    yield from _each(f"{of}.outputs", running, "is run by whoever reads it: write JSON or CSV")
    if not 0 <= told.seconds <= MAX_SECONDS:
        yield Fault(f"{of}.time", f"{told.seconds} s", f"must be 0 to {MAX_SECONDS} s; 0 is the default")


def _command_faults(field: str, command: Sequence[str], *, needed: bool) -> Iterator[Fault]:
    if not command:
        if needed:
            yield Fault(field, "empty", "must be a program and its arguments, each an item of a list")
        return
    if len(command) > _MAX_ARGUMENTS or any(len(part) > _MAX_ARGUMENT for part in command):
        yield Fault(field, f"{len(command)} items", f"at most {_MAX_ARGUMENTS} of {_MAX_ARGUMENT} characters")
    if any("\0" in part for part in command) or not command[0].strip():
        yield Fault(field, " ".join(command).replace("\0", "\\0")[:80], "must be a program that can be named")
    if len(command) == 1 and len(command[0].split()) > 1:
        yield Fault(
            field, command[0][:80], "is a line for a shell: give the program and each argument as an item"
        )
    if PurePosixPath(command[0]).name in _SHELLS and any(_takes_a_line(part) for part in command[1:]):
        yield Fault(field, " ".join(command)[:80], "starts a shell: name the program that is to run")


def _takes_a_line(option: str) -> bool:
    return option.startswith("-") and not option.startswith("--") and option.endswith("c")


def _metric_faults(told: Metric) -> Iterator[Fault]:
    if not told.key.strip() or len(told.key) > _MAX_NAME:
        yield Fault(
            "repository.metric.key", told.key[:80], f"must name the metric, in 1 to {_MAX_NAME} characters"
        )
    if told.direction is None:
        yield Fault(
            "repository.metric.direction", "unset", "must say whether higher or lower values are better"
        )
    if told.transform is None:
        yield Fault("repository.metric.transform", "unknown", "must be none or -log10")
    yield from _plain("repository.metric.results_file", [told.results_file])
    if len(told.datasets) > _MAX_FILES or any(not name or len(name) > _MAX_NAME for name in told.datasets):
        yield Fault(
            "repository.metric.datasets",
            ", ".join(told.datasets)[:80],
            f"must be names, {_MAX_FILES} at most",
        )
    for name, value in (("best", told.best), ("worst", told.worst)):
        if value is not None and not math.isfinite(value):
            yield Fault(f"repository.metric.{name}", str(value), "must be a finite number")
    if told.worst == told.best:
        yield Fault(
            "repository.metric.worst", str(told.worst), "must differ from the best: between them is the unit"
        )


def _baseline_faults(told: Repository) -> Iterator[Fault]:
    for name, value in (
        ("baseline_validation", told.baseline_validation),
        ("baseline_test", told.baseline_test),
    ):
        if value is None:
            continue
        if not math.isfinite(value):
            yield Fault(
                f"repository.{name}", str(value), "must be a finite number; leave it out where it is unknown"
            )
        elif told.metric.transform is Transform.NEGATIVE_LOG10 and value <= 0:
            yield Fault(f"repository.{name}", str(value), "must be above 0: it has no logarithm")
        elif (
            told.metric.worst is None
            and told.metric.transform is Transform.NONE
            and value == told.metric.best
        ):
            yield Fault(f"repository.{name}", str(value), "is the best already: nothing could be improved")


def _split_faults(told: Split, targets: Sequence[str]) -> Iterator[Fault]:
    if told.file not in targets:
        yield Fault("repository.split.file", told.file, "must be one of the target files")
    names = [setting.name for setting in told.settings]
    if not names or len(names) > _MAX_FIELDS:
        yield Fault("repository.split.fields", f"{len(names)} fields", f"must be 1 to {_MAX_FIELDS}")
    if len({*names}) < len(names):
        yield Fault("repository.split.fields", ", ".join(names)[:80], "has a name twice")
    for setting in told.settings:
        yield from _setting_faults(f"repository.split.fields[{setting.name[:40]}]", setting)


def _setting_faults(field: str, told: Setting) -> Iterator[Fault]:
    values = (told.least, told.default, told.most)
    if not told.name or len(told.name) > _MAX_NAME:
        yield Fault(field, told.name[:80], f"must have a name of 1 to {_MAX_NAME} characters")
    if not all(map(math.isfinite, values)) or not told.least <= told.default <= told.most:
        shown = f"{told.default:g} within {told.least:g} to {told.most:g}"
        yield Fault(field, shown, "must be finite numbers, the default between least and most")
    elif told.whole and any(value % 1 for value in values):
        yield Fault(field, ", ".join(f"{value:g}" for value in values), "must be whole numbers")


def _plain(field: str, paths: Iterable[str]) -> Iterator[Fault]:
    """What is no path of a file below the source's folder, and what is named twice."""
    seen = set()
    for path in paths:
        if not is_plain(path):
            yield Fault(
                field, path[:80], "must be the path of a file below the source's folder, without '..'"
            )
        if path in seen:
            yield Fault(field, path[:80], "is named twice")
        seen.add(path)


def is_plain(path: str) -> bool:
    """Whether a text is a relative path in its plain form."""
    named = bool(path) and len(path) <= _MAX_ARGUMENT and path.isprintable() and "\\" not in path
    parts = PurePosixPath(path).parts
    return named and not {"..", "/"} & {*parts} and str(PurePosixPath(path)) == path and bool(parts)


def _clashes(name: str, part: Mapping[str, str]) -> Iterator[Fault]:
    """Files that lie where others have their folder."""
    folders = {str(above) for path in part for above in PurePosixPath(path).parents}
    yield from _each(name, folders & part.keys(), "is a file and a folder")


def _each(field: str, paths: Iterable[str], cure: str) -> Iterator[Fault]:
    return (Fault(field, path[:80], cure) for path in sorted(paths)[:_TOLD])


def _some(paths: Iterable[str]) -> str:
    return ", ".join(sorted(paths)[:3])
