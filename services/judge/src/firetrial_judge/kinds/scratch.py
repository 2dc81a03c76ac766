"""Folders for large files that do not outlive their process for long, even where it is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from firetrial_kit.errors import FiretrialError, Reason

_PREFIX = "firetrial-seal-"
_YOUNG_S = 60.0
"""Seconds in which a folder may be without its lock: between its making and its locking."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed in the end. Those of processes that were killed are removed before.

    Raises UNAVAILABLE where the disk is full or broken.
    """
    with on_disk("what is to be tested could not be laid out"):
        _remove_left()
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as name, _locked(Path(name)):
            yield Path(name)


@contextmanager
def on_disk(what: str) -> Iterator[None]:
    """Whatever a disk does that is full or broken is UNAVAILABLE, and `what` says what came of it."""
    try:
        yield
    except OSError as error:
        raise FiretrialError(Reason.UNAVAILABLE, f"{what}: {error.strerror or error}") from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The kernel lets go of the lock when the process dies. Raises BlockingIOError where another has it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _remove_left() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        # Another's, in use, or gone meanwhile.
        with suppress(OSError), _locked(folder):
            if time.time() - folder.stat().st_mtime > _YOUNG_S:
                shutil.rmtree(folder)
