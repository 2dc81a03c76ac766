"""How much a directory tree holds on disk, while a hostile program may be changing it."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

_ENTRIES = 2_000_000
"""A tree with more entries is refused: counting it would cost more than the run."""


_PAUSE_S, _TICK_S = 0.5, 0.05


class MeasureError(Exception):
    """The size of a tree cannot be told, because it hides or outgrows what can be counted."""


def used_bytes(root: Path, stop_at: int) -> int:
    """Bytes on disk below `root`, links not followed; stops counting above `stop_at`.

    Raises MeasureError where a directory cannot be read or lies deeper than a path can name: a program
    could else keep any amount there unseen.
    """
    total, entries, todo = 0, 0, [str(root)]
    while todo and total <= stop_at:
        try:
            with os.scandir(todo.pop()) as listing:
                for entry in listing:
                    entries += 1
                    total += _blocks(entry)
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except FileNotFoundError:
            continue  # removed while we looked
        except OSError as e:
            raise MeasureError(f"{_shown(e.filename)}: {e.strerror}") from e
        if entries > _ENTRIES:
            raise MeasureError(f"more than {_ENTRIES} files")
    return total


def free_bytes(root: Path) -> int:
    """What the file system has left."""
    about = os.statvfs(root)
    return about.f_bfree * about.f_frsize


async def until_worth_measuring(
    root: Path, room: int, took_s: float, free: Callable[[Path], int] = free_bytes
) -> None:
    """Wait before a tree is measured again, which took `took_s` seconds and left room for `room` bytes.

    A large tree takes long to count: at most a tenth of the time goes into it, unless its file system has
    lost so much meanwhile that the tree may have outgrown its room. A program could else make a tree that
    takes long to count, and fill the disk before it is counted again.
    """
    before = await asyncio.to_thread(free, root)
    await asyncio.sleep(max(_TICK_S, took_s))
    for _ in range(round(max(_PAUSE_S, 9 * took_s) / _TICK_S)):
        if before - await asyncio.to_thread(free, root) >= room:
            return
        await asyncio.sleep(_TICK_S)


def _blocks(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except FileNotFoundError:
        return 0


def _shown(name: object) -> str:
    text = ascii(name)
    return text if len(text) <= 120 else f"{text[:60]}…{text[-60:]}"
