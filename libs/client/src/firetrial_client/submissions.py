"""A submission to a release: runs that somebody made elsewhere, in a folder with `bundle.json`.

docs/releases.md describes the format, `firetrial.bundle/1`. Everything that can be wrong with one is told at
once, and before anything is sent.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firetrial.analyzer.v1.release_pb2 import Release
from firetrial.plan.v1.plan_pb2 import Plan, Slip
from firetrial_client.elsewhere import FORMATS, MAX_FILE, Elsewhere
from firetrial_client.errors import Fault, check, invalid

SCHEMA = "firetrial.bundle/1"
MANIFEST = "bundle.json"
MAX_MANIFEST = 4 * 1024 * 1024
MAX_BY = 100
MAX_NOTE = 380
_FIELDS = {"schema": str, "release": str, "agent": str, "model": str, "by": str, "note": str, "runs": list}
_RUN_FIELDS = {"task": str, "repeat": int, "file": str, "format": str}
_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MODEL = re.compile(r"[\x21-\x7e]{0,128}")
_TOLD = 50  # faults that are told one by one


@dataclass(frozen=True, slots=True)
class Submission:
    """A bundle as it lies in a folder; `runs` in the order of the manifest. `by` says whose word it is."""

    release: str
    agent: str
    model: str
    by: str
    note: str
    runs: tuple[Elsewhere, ...]

    def slip(self, release: Release) -> Slip:
        """The routing slip of its experiment: the release's judge, and the same again is the same one."""
        plan = Plan(
            agents=[self.runs[0].agent_id],
            repeats=release.repeats,
            judge=release.judge,
            model=self.model,
            release=release.name,
        )
        return Slip(experiment_id=self._id(release), expected_runs=len(self.runs), plan=plan)

    def _id(self, release: Release) -> str:
        found = hashlib.sha256(f"{release.checksum}\0{self.agent}\0{self.model}\0".encode())
        for run in self.runs:
            found.update(f"{run.task_id}\0{run.repeat}\0{run.format}\0".encode())
            with run.path.open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
        return f"e-{found.hexdigest()[:16]}"


def read(folder: Path) -> Submission:
    """The submission in `folder`. Raises INVALID with every fault; what its release says is not looked at."""
    told = _manifest(folder / MANIFEST)
    faults = [*_wrong_fields("", told, _FIELDS, {"note", "model"}), *_wrong_values(told)]
    runs = told["runs"] if isinstance(told.get("runs"), list) else []
    good = []
    for number, run in enumerate(runs):
        found = list(_run_faults(f"runs[{number}]", run, folder))
        faults += found
        if not found:
            good.append(run)
    faults += _doubled(good)
    if not runs:
        faults.append(Fault("runs", "is empty: must name at least one run"))
    check(f"the bundle in {folder}", _few(faults))
    agent, model = told["agent"], told.get("model", "")
    made_by = ": ".join(part for part in (told["by"].strip(), told.get("note", "").strip()) if part)
    return Submission(
        told["release"],
        agent,
        model,
        told["by"],
        told.get("note", ""),
        tuple(
            Elsewhere(
                path=folder / run["file"],
                format=run["format"],
                agent=agent,
                model=model,
                task=run["task"],
                task_id=run["task"],
                repeat=run["repeat"],
                made_by=made_by,
            )
            for run in runs
        ),
    )


def check_against(submission: Submission, release: Release) -> None:
    """Raises INVALID where the bundle is of another release, or has runs that this one does not ask for."""
    tasks = {task.id for task in release.tasks}
    faults = []
    if submission.release != release.name:
        faults.append(Fault("release", f"is {submission.release!r}: must be {release.name!r}"))
    for number, run in enumerate(submission.runs):
        if run.task_id not in tasks:
            cure = f"is {run.task_id!r}: must be the id of one of the release's {len(tasks)} tasks"
            faults.append(Fault(f"runs[{number}].task", cure))
        if run.repeat > release.repeats:
            cure = f"is {run.repeat}: the release has {release.repeats} repeats"
            faults.append(Fault(f"runs[{number}].repeat", cure))
    check("the bundle", _few(faults))


def missing(submission: Submission, release: Release) -> int:
    """How many runs the release asks for that are not there; with any, the submission gets no rank."""
    return len(release.tasks) * release.repeats - len(submission.runs)


def _manifest(path: Path) -> dict[str, Any]:
    form = f"must be a JSON object of schema {SCHEMA!r}; see docs/releases.md"
    try:
        if path.stat().st_size > MAX_MANIFEST:
            raise invalid("the bundle", [Fault(str(path), f"has more than {MAX_MANIFEST} bytes")])
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise invalid("the bundle", [Fault(str(path), f"does not exist: it {form}")]) from None
    except (OSError, ValueError, RecursionError) as error:
        raise invalid("the bundle", [Fault(str(path), f"cannot be read ({error}): it {form}")]) from None
    if not isinstance(told, dict) or told.get("schema") != SCHEMA:
        raise invalid("the bundle", [Fault(str(path), form)])
    return told


def _wrong_fields(
    path: str, told: Mapping[str, Any], fields: Mapping[str, type], optional: set[str]
) -> Iterator[Fault]:
    for name in sorted(told.keys() - fields.keys()):
        yield Fault(f"{path}{name}", f"is no field: the fields are {', '.join(fields)}")
    for name, type_ in fields.items():
        if name not in told:
            if name not in optional:
                yield Fault(f"{path}{name}", "is missing")
        elif type(told[name]) is not type_:
            yield Fault(f"{path}{name}", f"is {str(told[name])[:40]!r}: must be of type {type_.__name__}")


def _wrong_values(told: Mapping[str, Any]) -> Iterator[Fault]:
    agent, model, by, note = (told.get(name) for name in ("agent", "model", "by", "note"))
    if isinstance(agent, str) and not _AGENT.fullmatch(agent):
        yield Fault("agent", f"is {agent[:40]!r}: must match {_AGENT.pattern}")
    if isinstance(model, str) and not _MODEL.fullmatch(model):
        yield Fault("model", f"is {model[:40]!r}: must be at most 128 printable characters without spaces")
    if isinstance(by, str) and not by.strip():
        yield Fault("by", "is empty: must say who made the runs")
    if isinstance(by, str) and len(by) > MAX_BY:
        yield Fault("by", f"has {len(by)} characters: at most {MAX_BY}")
    if isinstance(note, str) and len(note) > MAX_NOTE:
        yield Fault("note", f"has {len(note)} characters: at most {MAX_NOTE}")


def _run_faults(path: str, run: Any, folder: Path) -> Iterator[Fault]:
    if not isinstance(run, dict):
        yield Fault(path, "must be an object")
        return
    wrong = list(_wrong_fields(f"{path}.", run, _RUN_FIELDS, set()))
    yield from wrong
    if wrong:
        return
    if run["repeat"] < 1:
        yield Fault(f"{path}.repeat", f"is {run['repeat']}: repeats count from 1")
    if run["format"] not in FORMATS:
        yield Fault(f"{path}.format", f"is {run['format']!r}: must be one of {', '.join(FORMATS)}")
    if fault := _file_fault(folder, run["file"]):
        yield Fault(f"{path}.file", fault)


def _file_fault(folder: Path, name: str) -> str:
    """Why the file cannot be taken; links are not followed, so that a bundle shows what it holds."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
        return f"is {name[:80]!r}: must be a relative path without '..'"
    try:
        if any((folder / Path(*parts[: depth + 1])).is_symlink() for depth in range(len(parts))):
            return f"is {name!r}: must not be reached by a link"
        status = (folder / name).stat()
    except OSError as error:
        return f"is {name!r}: {error.strerror}"
    if not stat.S_ISREG(status.st_mode):
        return f"is {name!r}: must be a regular file"
    return f"has more than {MAX_FILE} bytes" if status.st_size > MAX_FILE else ""


def _doubled(runs: list[dict[str, Any]]) -> Iterator[Fault]:
    slots = Counter((run["task"], run["repeat"]) for run in runs)
    for (task, repeat), count in slots.items():
        if count > 1:
            yield Fault("runs", f"have repeat {repeat} of {task!r} {count} times: must have it once")


def _few(faults: list[Fault]) -> list[Fault]:
    if len(faults) <= _TOLD:
        return faults
    return [*faults[:_TOLD], Fault("bundle", f"has {len(faults) - _TOLD} faults more")]
