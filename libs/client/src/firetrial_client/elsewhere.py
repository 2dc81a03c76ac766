"""Runs that were made elsewhere, as they lie in files: what each is, which task it is of, and what is wrong.

The official layout is `log/<agent>/<model>/<task>/<timestamp>_<rand>/log.log`; a model's name with "/" nests
a folder. What a log's own first lines say of it counts, then its folders; its text is never asked.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path

from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial_client.errors import Fault, invalid

MAX_FILES = 20_000
MAX_DEPTH = 16
MAX_REPEATS = 100
MAX_FILE = 2 * 1024**3
MAX_ATIF = 16 * 1024**2
_HEAD = 4096

_LOG = "log.log"
_NAMES = re.compile(r"log\.log|.+\.jsonl|(?:.+\.)?trajectory\.json|conclusion\.(?:md|txt)")
_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MODEL = re.compile(r"[\x21-\x7e]{0,128}")
_HEADER = re.compile(r"agent_id:([^\n]*)\n\s*task_id:([^\n]*)\n\s*llm_model:([^\n]*)\n={5,}")
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

FORMATS = {
    "firebench": pb.LOG_FORMAT_FIREBENCH,
    "codex": pb.LOG_FORMAT_CODEX,
    "claude-code": pb.LOG_FORMAT_CLAUDE_CODE,
    "atif": pb.LOG_FORMAT_ATIF,
    "conclusion": pb.LOG_FORMAT_CONCLUSION,
}
_AGENTS = ("codex", "claude", "claude-code", "openhands")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A file of a run. `task` is its name where it was made, `task_id` here; `faults` say why not."""

    path: Path
    format: str = ""
    agent: str = ""
    model: str = ""
    task: str = ""
    task_id: str = ""
    repeat: int = 0
    made_by: str = ""
    faults: tuple[str, ...] = ()

    @property
    def agent_id(self) -> str:
        """The id that its agent has here; see ImportedRun.agent in the contract."""
        model = re.sub(r"[^A-Za-z0-9._-]+", "-", self.model)
        return f"{self.agent}{'-' if model else ''}{model}@elsewhere"

    @property
    def header(self) -> pb.ImportedRun:
        """What a service is told of it."""
        return pb.ImportedRun(
            task_id=self.task_id,
            agent=self.agent,
            model=self.model,
            repeat=self.repeat,
            format=FORMATS[self.format],
            filename=self.path.name,
            made_by=self.made_by,
        )


def find(root: Path, *, form: str = "", agent: str = "", model: str = "") -> list[Elsewhere]:
    """The runs in a file or a folder, in the order of their paths; what is told by hand counts most.

    Links are not followed. Files that cannot be taken are there too, with their faults. Raises INVALID for
    more than 20,000 files.
    """
    told = Elsewhere(root, form, family(agent), model)
    files = list(islice(_files(root), MAX_FILES + 1))
    if len(files) > MAX_FILES:
        cure = f"holds more than {MAX_FILES} logs: import its folders one by one"
        raise invalid("the import", [Fault("path", cure)])
    return [_looked_at(path, root, told) for path in files]


def placed(
    found: Iterable[Elsewhere],
    tasks: Collection[tuple[str, str]],
    chosen: Mapping[str, str],
    first_repeat: int = 1,
) -> list[Elsewhere]:
    """The runs with the id of their task here and their repeat.

    `tasks` are (id, slug) of the tasks there are; `chosen` maps names to ids, "" those without another.
    Runs of one task, agent and model are repeats of one another, in the order given, from `first_repeat` on.
    """
    repeats: defaultdict[tuple[str, str], Iterator[int]] = defaultdict(lambda: count(first_repeat))
    return [_numbered(_with_task(run, tasks, chosen), repeats) for run in found]


def family(agent: str) -> str:
    """An agent's name as this project writes it."""
    return agent.lower().replace("_", "-")


def _files(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    for folder, folders, names in os.walk(root, followlinks=False):
        deep = len(Path(folder).relative_to(root).parts) >= MAX_DEPTH
        folders[:] = [] if deep else sorted(folders)
        yield from (Path(folder, name) for name in sorted(names) if _NAMES.fullmatch(name))


def _looked_at(path: Path, root: Path, told: Elsewhere) -> Elsewhere:
    run = replace(told, path=path)
    try:
        head = _head(path)
    except OSError as error:
        return replace(run, faults=(f"cannot be read: {error.strerror or error}",))
    run = replace(run, format=run.format or _format(path, head))
    if run.format == "firebench":
        run = _official(run, root, head)
    elif run.format in {"codex", "claude-code"} and not run.agent:
        run = replace(run, agent=run.format)
    elif run.format == "atif" and not run.agent:
        run = _of_atif(run)
    return replace(run, faults=tuple(_faults(run)))


def _head(path: Path) -> str:
    """The first characters of a regular file; a link is not followed."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("is no regular file")
        if status.st_size > MAX_FILE:
            raise OSError(f"has more than {MAX_FILE} bytes")
        data = file.read(_HEAD)
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
    return data.decode(marked, "replace").replace("\r\n", "\n")


def _format(path: Path, head: str) -> str:
    """How a file is to be read, from its name and what its format begins with; "" where that says nothing."""
    if path.name == _LOG or _HEADER.match(head):
        return "firebench"
    if path.name in {"conclusion.md", "conclusion.txt"}:
        return "conclusion"
    if re.match(r'\s*\{\s*"schema_version"\s*:\s*"ATIF-', head) or path.name.endswith("trajectory.json"):
        return "atif"
    first = _object(head.lstrip().split("\n", 1)[0])
    if first.get("type") == "thread.started":
        return "codex"
    begins_claude = re.match(r'\s*\{"type":\s*"system",\s*"subtype":\s*"init"', head)
    return "claude-code" if begins_claude else ""


def _official(run: Elsewhere, root: Path, head: str) -> Elsewhere:
    """What the header says; the folders where there is none."""
    if match := _HEADER.match(head):
        agent, task, model = (part.strip() for part in match.groups())
    else:
        agent, task, model = _of_folders(run.path, root)
    return replace(run, agent=run.agent or family(agent), task=task, model=run.model or model)


def _of_folders(path: Path, root: Path) -> tuple[str, str, str]:
    """(agent, task, model) of `…/log/<agent>/<model>/<task>/<run>/log.log`; empty where it lies elsewhere."""
    parts = path.absolute().parent.parts
    top = len(root.absolute().parts)
    named = [index for index, part in enumerate(parts) if part == "log"]
    inside = [index for index in named if index >= top - 1]
    start = inside[0] + 1 if inside else named[-1] + 1 if named else top
    told = parts[start:]
    if len(told) < 4:
        return "", "", ""
    return told[0], told[-2], "/".join(told[1:-2])


def _of_atif(run: Elsewhere) -> Elsewhere:
    """Agent and model as the file says them. Its reader looks at it more closely."""
    if run.path.stat().st_size > MAX_ATIF:
        return run
    agent = _object(run.path.read_text("utf-8", "replace")).get("agent")
    if not isinstance(agent, dict):
        return run
    name = re.sub(r"[^a-z0-9._-]+", "-", family(str(agent.get("name") or ""))).strip("-._")[:64]
    return replace(run, agent=name, model=run.model or str(agent.get("model_name") or ""))


def _faults(run: Elsewhere) -> Iterator[str]:
    if run.format == "atif" and run.path.stat().st_size > MAX_ATIF:
        yield f"has more than {MAX_ATIF} bytes, which is the most that is read of ATIF"
        return
    if not run.format:
        yield f"its format is not known: say --format {'|'.join(FORMATS)}"
        return
    if run.format == "firebench" and run.agent not in _AGENTS:
        yield f"its agent is {run.agent!r}: say --agent {'|'.join(_AGENTS)}, others' logs are not known"
    elif not _AGENT.fullmatch(run.agent):
        yield f"its agent is {run.agent!r}: say --agent NAME, lower-case letters, digits, '.', '_' and '-'"
    if not _MODEL.fullmatch(run.model):
        yield f"its model is {run.model!r}: say --model NAME, at most 128 printable characters"


def _with_task(run: Elsewhere, tasks: Collection[tuple[str, str]], chosen: Mapping[str, str]) -> Elsewhere:
    if given := chosen.get(run.task) or chosen.get(""):
        if given in {id_ for id_, _ in tasks}:
            return replace(run, task_id=given)
        return replace(run, faults=(*run.faults, f"there is no task {given!r} here; list the tasks to see"))
    name = _plain(run.task)
    known = sorted(id_ for id_, slug in tasks if name and name in {_plain(slug), _plain(id_)})
    if len(known) == 1:
        return replace(run, task_id=known[0])
    if not name:
        fault = "its task is not told: say --task ID"
    elif known:
        fault = f"its task {run.task!r} is here in several versions: say --task {run.task}={'|'.join(known)}"
    else:
        fault = f"its task {run.task!r} is not here: import it, or say --task {run.task}=ID"
    return replace(run, faults=(*run.faults, fault))


def _numbered(run: Elsewhere, repeats: Mapping[tuple[str, str], Iterator[int]]) -> Elsewhere:
    if run.faults:
        return run
    repeat = next(repeats[run.task_id, run.agent_id])
    if repeat > MAX_REPEATS:
        return replace(run, faults=(f"is beyond repeat {MAX_REPEATS} of its task and agent",))
    return replace(run, repeat=repeat)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _object(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
