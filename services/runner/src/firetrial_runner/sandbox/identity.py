"""Who runs the command when the runner is root: a user of the run's own, with no name and no rights."""

import os
import zlib
from pathlib import Path

_FIRST, _COUNT = 1_900_000_000, 1_000_000  # beyond every range that distributions hand out
_NOBODY = 65534


def uid_for(run_key: str, uid_map: Path = Path("/proc/self/uid_map")) -> int | None:
    """The uid (and gid) for a run, or None when we are not root and the run is ours.

    Inside a container that maps few uids it is nobody's for all runs.
    """
    if os.geteuid() != 0:
        return None
    uid = _FIRST + zlib.crc32(run_key.encode()) % _COUNT
    for line in uid_map.read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= uid < first + count:
            return uid
    return _NOBODY


def hand_over(tree: Path, uid: int) -> None:
    """Give a directory and all in it to a user. Not for trees that someone else can change meanwhile."""
    os.chown(tree, uid, uid)
    for folder, subfolders, files in os.walk(tree):
        for name in (*subfolders, *files):
            os.chown(Path(folder, name), uid, uid, follow_symlinks=False)
