"""Which runners live on this machine: each holds a lock that the kernel lets go of when it dies."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firetrial_kit.ids import digest


class Presence:
    """The runners that share a `work_dir`. `lease` marks what this one makes; taken with the lock.

    Leases of one work_dir share a prefix, so that two installations on a machine never touch each other.
    """

    def __init__(self, work_dir: Path) -> None:
        self._folder = work_dir / "runners"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._site = digest(socket.gethostname(), str(work_dir.resolve()), length=8)
        self.lease = f"{self._site}-{os.urandom(6).hex()}"
        self._path = self._folder / self.lease
        with self._alone():
            self._handle = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def is_dead(self, lease: str) -> bool:
        """Whether this is the lease of a runner of this work_dir that is gone."""
        if lease == self.lease or not lease.startswith(f"{self._site}-") or "/" in lease:
            return False
        with self._alone():
            try:
                handle = os.open(self._folder / lease, os.O_RDWR)
            except FileNotFoundError:
                return True
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            finally:
                os.close(handle)
            return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While inside, no other makes or tries a lock: a new file without one looks like a dead one's."""
        handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def remains(self, lease: str) -> bool:
        """Whether a runner of this work_dir is there under this lease, or something that it left."""
        return bool(lease) and "/" not in lease and (self._folder / lease).exists()

    def dead(self) -> list[str]:
        """The leases of runners that died without taking leave."""
        return sorted(entry.name for entry in self._folder.iterdir() if self.is_dead(entry.name))

    def forget(self, lease: str) -> None:
        """Strike a dead runner off, once nothing of it is left."""
        (self._folder / lease).unlink(missing_ok=True)

    def leave(self) -> None:
        """Take leave: nothing of this runner is left."""
        self._path.unlink(missing_ok=True)
        os.close(self._handle)
