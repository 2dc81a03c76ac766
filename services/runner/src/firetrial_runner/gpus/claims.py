"""Who has a GPU, among the runners of one machine: a lock for each that ends with its runner."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from firetrial_runner.presence import Presence


class Claims:
    """The claims of the runner that `presence` is of, on devices that all runners of its work_dir share.

    The kernel lets go of a dead runner's locks at once, while what it started may still be running: a device
    stays taken until nothing is left of the runner that the lock's file names.
    """

    def __init__(self, folder: Path, presence: Presence) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._presence = presence
        self._held: dict[str, int] = {}

    def take(self, uuid: str) -> bool:
        """Claim a device; False where another run has it."""
        handle = os.open(self._folder / uuid.replace("/", "_"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        if self._presence.remains(os.pread(handle, 256, 0).decode()):
            os.close(handle)
            return False
        _write(handle, self._presence.lease)
        self._held[uuid] = handle
        return True

    def release(self, uuid: str) -> None:
        """Give up a claim; harmless where there is none."""
        handle = self._held.pop(uuid, None)
        if handle is not None:
            _write(handle, "")
            os.close(handle)


def _write(handle: int, text: str) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)
