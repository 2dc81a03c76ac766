"""FML-bench's layout, read file by file. Its files are data of strangers: small, no links, never run.

configs/tasks/*.yaml                              benchmark.name, metrics.*
ml_tasks/<task>/{config,prompt,split_config}.json
ml_tasks/<task>/baseline_results/{val,test}_info.json
<repo_dir>                                        the repository, where somebody has checked it out
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from firetrial_kit import documents
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_parser.fml.task import (
    ENVIRONMENTS,
    SPLIT,
    Definition,
    Here,
    Told,
    behind_a_link,
    define,
    form_faults,
)

TASKS, CONFIGS = "ml_tasks", "configs/tasks"
MAX_FILE = 1024 * 1024
MAX_TASKS = 500
_COMMIT = re.compile(r"[0-9a-f]{40}")


def read_fml(root: Path) -> list[Definition]:
    """All task definitions below `root`, sorted by name.

    Raises NOT_FOUND or INVALID for a path without such a layout, and INVALID with every fault of every file.
    """
    if not root.is_dir():
        fault = Fault("PATH", str(root), "must be a folder that exists: the root of a copy of the benchmark")
        raise FiretrialError(Reason.NOT_FOUND, str(fault), faults=[fault])
    reader = _Reader(root)
    told = list(reader.tasks())
    if not told and not reader.faults:
        cure = f"must hold {CONFIGS}/*.yaml and {TASKS}/<task>/config.json"
        raise invalid("the import", [Fault("PATH", str(root), cure)])
    found = [*reader.faults, *(fault for task in told for fault in form_faults(task))]
    check("the import", found)
    return [define(task, Here(root, _checked_out(root, task.config["repo_dir"]))) for task in told]


class _Reader:
    """Reads files and gathers what is wrong with them; a faulty file reads as an empty one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.faults: list[Fault] = []

    def tasks(self) -> Iterator[Told]:
        """A task for each configuration of the benchmark, by its name."""
        named = dict(sorted(self._benchmarks()))
        folders = {path.name for path in self._root.glob(f"{TASKS}/*") if path.is_dir()}
        for name in sorted(folders - named.keys()):
            self.faults.append(Fault(f"{TASKS}/{name}", "a task", f"must be named by a file of {CONFIGS}"))
        for name, benchmark in named.items():
            if name in folders:
                yield self._task(name, benchmark)
            else:
                self.faults.append(Fault(f"{CONFIGS}, {name}", "a task", f"must have a folder in {TASKS}"))

    def _benchmarks(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for path in sorted(self._root.glob(f"{CONFIGS}/*.yaml"))[:MAX_TASKS]:
            at = path.relative_to(self._root).as_posix()
            found = self._mapping(at)
            benchmark = found.get("benchmark")
            name = benchmark.get("name") if isinstance(benchmark, dict) else None
            if isinstance(name, str) and re.fullmatch(r"\w{1,100}", name, re.ASCII):
                yield name, found
            elif found:
                self.faults.append(Fault(f"{at}: benchmark.name", str(name)[:80], "must be a task's folder"))

    def _task(self, name: str, benchmark: Mapping[str, Any]) -> Told:
        at = f"{TASKS}/{name}"

        def optional(path: str) -> Mapping[str, Any] | None:
            there = (self._root / at / path).exists() or (self._root / at / path).is_symlink()
            return self._mapping(f"{at}/{path}") if there else None

        given = [name for name in ENVIRONMENTS if (self._root / at / name).is_file()]
        return Told(
            name=name,
            benchmark=benchmark,
            config=self._mapping(f"{at}/config.json"),
            prompt=self._mapping(f"{at}/prompt.json"),
            split=optional(SPLIT),
            validation=optional("baseline_results/val_info.json"),
            test=optional("baseline_results/test_info.json"),
            environment=self._text(f"{at}/{given[0]}") if given else "",
        )

    def _mapping(self, at: str) -> Mapping[str, Any]:
        data = self._bytes(at)
        if data is None:
            return {}
        try:
            found = documents.load(data, at)
        except FiretrialError as error:
            self.faults += [Fault(at, fault.value, fault.cure) for fault in error.faults]
            return {}
        if not isinstance(found, dict):
            self.faults.append(Fault(at, str(found)[:80], "must be a mapping"))
            return {}
        return found

    def _text(self, at: str) -> str:
        return (self._bytes(at) or b"").decode("utf-8", "replace")

    def _bytes(self, at: str) -> bytes | None:
        path = self._root / at
        if behind_a_link(self._root, at):
            self.faults.append(Fault(at, "a link", "must be a file of the benchmark itself"))
            return None
        if not path.is_file():
            self.faults.append(Fault(at, "missing", "must be a file"))
            return None
        if path.stat().st_size > MAX_FILE:
            self.faults.append(
                Fault(at, f"{path.stat().st_size} bytes", f"at most {MAX_FILE} bytes are read")
            )
            return None
        return path.read_bytes()


def _checked_out(root: Path, folder: str) -> str | None:
    """The commit of a repository, "" where it cannot be told; None where there is no such folder."""
    repository = root / folder
    if not repository.is_dir() or behind_a_link(root, folder):
        return None
    head = _line(repository / ".git" / "HEAD")
    if head.startswith("ref: refs/") and ".." not in head:
        head = _line(repository / ".git" / head.removeprefix("ref: "))
    return head if _COMMIT.fullmatch(head) else ""


def _line(path: Path) -> str:
    if not path.is_file() or path.stat().st_size > 1000:
        return ""
    return path.read_text(errors="replace").strip()
