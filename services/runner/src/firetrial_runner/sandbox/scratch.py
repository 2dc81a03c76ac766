"""Temporary folders that are found again where their process was killed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """A folder as long as this is open. Those that dead processes left for the same purpose go first."""
    base, space = Path(tempfile.gettempdir()), _stamp(os.getpid()).partition("-")[0]
    for left in base.glob(f"firetrial-{purpose}-{space}-*"):
        stamp, _, _ = left.name.removeprefix(f"firetrial-{purpose}-").rpartition("-")
        if stamp != _stamp(int(stamp.split("-")[1])):
            shutil.rmtree(left, ignore_errors=True)  # another may be at it too
    with tempfile.TemporaryDirectory(prefix=f"firetrial-{purpose}-{_stamp(os.getpid())}-") as folder:
        yield Path(folder)


def _stamp(pid: int) -> str:
    """One process for good: its namespace (others share the folder), its pid, and when it began."""
    space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 -- a link that leads to no path
    try:
        after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except OSError:
        return f"{space}-{pid}-gone"
    return f"{space}-{pid}-{after.split()[19]}"
