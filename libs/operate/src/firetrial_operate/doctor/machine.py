"""This machine: room, open files, shared memory, and what sandboxes need of the kernel."""

from __future__ import annotations

import os
import resource
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from firetrial_operate import printing
from firetrial_operate.doctor.apart import apart
from firetrial_operate.doctor.checks import BrokenError, Check, Told
from firetrial_operate.doctor.installation import Installation, secret_files, shared

_MIB = 1024 * 1024
_FULL, _FILLING = 256 * _MIB, 2048 * _MIB
_FILES, _SHM = 4096, 64 * _MIB
_SHARED = Path("/dev/shm")  # noqa: S108 - looked at, not written to
_ROOM = "free some there, or name a folder on another disk"


def checks(found: Installation) -> Iterator[Check]:
    for name, folder in _folders(found).items():
        yield _check(f"disk.{name}", partial(_disk, folder))
    yield _check("open-files", _open_files)
    yield _check("shared-memory", _shared_memory)
    yield _check("user-namespaces", _namespaces)
    yield _check("cgroups", _cgroups)
    yield _check("secrets", partial(_secrets, found))


def _check(name: str, look: Callable[[], Told]) -> Check:
    """A disk may be that of a server that is away."""
    return Check(name, partial(apart, look))


def _folders(found: Installation) -> dict[str, Path]:
    """Where an installation writes on this machine, by what for; the home of `firetrial up` is its own."""
    environ: Mapping[str, str] = found.environ
    folders = {}
    work = environ.get("FIRETRIAL_RUNNER_WORK_DIR") or environ.get("FIRETRIAL_WORK_DIR")
    if work:
        folders["work"] = Path(work).absolute()
    for one in found.who[:1]:
        if one.settings.objects_url.startswith("file://"):
            folders["objects"] = Path(one.settings.objects_url.removeprefix("file://"))
    return folders


def _disk(folder: Path) -> Told:
    """By what a user without privileges has."""
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    usage = os.statvfs(there)
    free, size = usage.f_bavail * usage.f_frsize, usage.f_blocks * usage.f_frsize
    detail = f"{printing.size(free)} of {printing.size(size)} free under {folder}"
    if free < _FULL:
        raise BrokenError(detail, _ROOM)
    if usage.f_files and usage.f_favail < usage.f_files // 100:
        raise BrokenError(f"{detail}, and {usage.f_favail} inodes", _ROOM)
    return Told(detail, _ROOM if free < _FILLING else "")


def _open_files() -> Told:
    """The services raise their own limit to the hard one, if at all."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    told = ["no limit" if each == resource.RLIM_INFINITY else str(each) for each in (soft, hard)]
    few = soft != resource.RLIM_INFINITY and soft < _FILES
    return Told(
        f"{told[0]} of at most {told[1]}", f"ulimit -n {_FILES}, or LimitNOFILE={_FILES}" if few else ""
    )


def _shared_memory() -> Told:
    try:
        free = shutil.disk_usage(_SHARED).free
    except OSError as error:
        return Told(str(error), "mount a tmpfs there: agents' programs expect it")
    return Told(f"{printing.size(free)} free", "give /dev/shm 64 MiB or more" if free < _SHM else "")


def _namespaces() -> Told:
    """Without them bubblewrap needs privileges."""
    limits = [Path("/proc/sys/user/max_user_namespaces"), Path("/proc/sys/kernel/unprivileged_userns_clone")]
    off = [str(path) for path in limits if path.exists() and path.read_text().strip() == "0"]
    if off:
        return Told(f"{off[0]} is 0", "set it to 15000 (sysctl), or run agents in Docker")
    return Told("users may make them")


def _cgroups() -> Told:
    controllers = Path("/sys/fs/cgroup/cgroup.controllers")
    if not controllers.exists():
        return Told("version 1, or none", "boot with version 2: limits of memory are held by it")
    return Told(f"version 2: {controllers.read_text().strip() or 'no controllers'}")


def _secrets(found: Installation) -> Told:
    """Files with secrets are their owner's alone, and no two services are known alike."""
    files = secret_files(found.environ)
    open_ = [name for name, path in files.items() if path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH)]
    told = [f"{name} names a file that others can read" for name in open_] + shared(found.who)
    if told:
        return Told("; ".join(told), "chmod 0600 the files; give each service a user and a key of its own")
    return Told(f"{len(files)} files, their owners' alone" if files else "in no files here")
