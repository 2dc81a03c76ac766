"""A process tree read from /proc: for where no control group measures and limits it."""

import os
import signal
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from firetrial_runner.sandbox.cgroup import Sample

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")

MARKS = ("FIRETRIAL_RUN", "FIRETRIAL_LEASE")
"""Environment variables that tell whose a process is. They say nothing secret."""


@dataclass(frozen=True, slots=True)
class _Entry:
    pid: int
    parent: int
    cpu_s: float  # with children that were waited for
    rss_bytes: int
    started: int  # ticks since boot: with the pid it names one process for good


class ProcTree:
    """Everything below one process. A Meter that also holds the tree to `memory_bytes`.

    Memory is the sum of resident pages. Where that passes the limit it is counted again with shared pages
    divided among those who share them, so that forked workers are not counted twice. Like the kernel, it
    kills the largest process and lets the others go on. `spared` is a root that only holds the sandbox
    together.
    """

    def __init__(self, root: int, memory_bytes: int, *, spared: bool) -> None:
        self._root = root
        self._memory_bytes = memory_bytes
        self._spared = root if spared else None
        self._cpu_s = 0.0
        self._oom_kills = 0

    def sample(self) -> Sample:
        tree = list(_below(self._root))
        # A process that died unseen takes its time along; the total never falls.
        self._cpu_s = max(self._cpu_s, sum(entry.cpu_s for entry in tree))
        rss = sum(entry.rss_bytes for entry in tree)
        if rss > self._memory_bytes:
            rss = self._hold(tree)
        return Sample(self._cpu_s, rss, len(tree), self._oom_kills)

    def _hold(self, tree: list[_Entry]) -> int:
        exact = [(_proportional(entry), entry) for entry in tree]
        total = sum(size for size, _ in exact)
        victims = [(size, entry) for size, entry in exact if entry.pid != self._spared]
        if total > self._memory_bytes and victims and _kill(max(victims, key=itemgetter(0))[1]):
            self._oom_kills += 1
        return total


def _below(root: int) -> Iterator[_Entry]:
    """The process and all its descendants, from one pass over /proc."""
    children: dict[int, list[_Entry]] = {}
    for name in os.listdir(_PROC):  # noqa: PTH208 -- a Path per process is what this pass would spend most on
        if name.isdigit() and (entry := _read(int(name))):
            children.setdefault(entry.parent, []).append(entry)
            if entry.pid == root:
                yield entry
    todo = [root]
    while todo:
        for entry in children.get(todo.pop(), ()):
            yield entry
            todo.append(entry.pid)


def _read(pid: int) -> _Entry | None:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name may hold spaces and brackets: proc(5) fields are counted from the last bracket.
    after = text[text.rindex(b")") + 2 :].split()
    ticks = sum(map(int, after[11:15]))  # utime, stime, cutime, cstime
    return _Entry(pid, int(after[1]), ticks / _TICKS, int(after[21]) * _PAGE, int(after[19]))


def _proportional(entry: _Entry) -> int:
    """Resident bytes, shared ones divided. One that is ending has given its memory back, so it has none."""
    try:
        lines = (_PROC / str(entry.pid) / "smaps_rollup").read_text().splitlines()
    except PermissionError:
        return entry.rss_bytes  # not ours to read
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _kill(entry: _Entry) -> bool:
    try:
        handle = os.pidfd_open(entry.pid)
    except OSError:
        return False
    try:
        now = _read(entry.pid)
        if now is None or now.started != entry.started:
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def kill_below(root: int) -> None:
    """Kill a process and everything below it."""
    for entry in list(_below(root)):
        _kill(entry)


def marked() -> Iterator[tuple[int, str, str]]:
    """(pid, run key, lease) of every process that carries MARKS in the environment it was started with."""
    for name in os.listdir(_PROC):  # noqa: PTH208 -- as above
        if name.isdigit() and (marks := _marks(int(name))):
            yield int(name), *marks


def kill_marked(dead: Collection[str], run_key: str | None = None) -> list[tuple[int, str, str]]:
    """Kill the marked processes of these leases (of one run only, if given); returns them."""
    killed = []
    for pid, _, lease in marked():
        if lease not in dead:
            continue
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            marks = _marks(pid)  # again: from here on the handle names this process and no later one
            if marks and marks[1] in dead and run_key in {None, marks[0]}:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                killed.append((pid, *marks))
        except ProcessLookupError:
            continue
        finally:
            os.close(handle)
    return killed


def _marks(pid: int) -> tuple[str, str] | None:
    try:
        raw = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None  # gone, or not ours
    values = dict(item.split(b"=", 1) for item in raw.split(b"\0") if b"=" in item)
    run_key, lease = (values.get(mark.encode()) for mark in MARKS)
    return (os.fsdecode(run_key), os.fsdecode(lease)) if run_key and lease else None
