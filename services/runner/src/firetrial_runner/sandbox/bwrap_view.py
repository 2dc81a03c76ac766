"""What a command sees inside bubblewrap, as bubblewrap's options."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from firetrial_runner.gpus.device import Gpu
from firetrial_runner.sandbox.port import HOME, Limits

UID_INSIDE = 1000  # in a user namespace, where any uid can be shown
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_ETC = (
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
)

_OWN = "firetrial*"
_DRIVER = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
_DRIVER_LIBRARIES = "/run/opengl-driver"
"""Where NixOS keeps them; others have them below /usr, which is shown to all."""


def namespaces(uid: int | None) -> list[str]:
    options = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    options += [
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--hostname",
        "sandbox",
        "--cap-drop",
        "ALL",
    ]
    if uid is None:
        return ["--unshare-user", "--uid", str(UID_INSIDE), "--gid", str(UID_INSIDE), *options]
    for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):  # launch.py gives them up
        options += ["--cap-add", capability]
    return options


def system() -> Iterator[str]:
    """The host's programs and the harmless part of /etc."""
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from bind("--ro-bind", path, name)
    for name in _ETC:
        if Path(name).exists():
            yield from bind("--ro-bind", Path(name), name)


def interpreter() -> Iterator[str]:
    """This Python and its packages; after `private`, which would hide one under /tmp or the home."""
    for prefix in dict.fromkeys((sys.base_prefix, sys.prefix)):
        if not PurePosixPath(prefix).is_relative_to("/usr"):
            yield from bind("--ro-bind", Path(prefix), prefix)


def unseen(folders: Iterable[str]) -> Iterator[str]:
    """Empty places over this project's packages in these folders, of those that are shown.

    They hold ground truths: the catalogue of tasks, and the study of the demonstration. No agent needs them.
    """
    shown = [Path(name).resolve() for name in (*_SYSTEM, sys.base_prefix, sys.prefix)]
    found = (package.resolve() for folder in folders if folder for package in Path(folder).glob(_OWN))
    for package in dict.fromkeys(found):
        if package.is_dir() and any(package.is_relative_to(place) for place in shown):
            yield from ("--perms", "0555", "--size", "4096", "--tmpfs", str(package))
            yield from ("--remount-ro", str(package))


def private(limits: Limits) -> Iterator[str]:
    """Empty places of the run's own, each of limited size.

    bubblewrap's /dev and / are tmpfs without a limit: `closed` makes them read-only, after all mounts.
    """
    yield from ("--proc", "/proc", "--dev", "/dev")
    for place in ("/dev/shm", "/tmp", HOME):  # noqa: S108 -- inside the sandbox
        yield from _parents(place)
        yield from ("--perms", "1777", "--size", str(limits.tmp_bytes), "--tmpfs", place)


def gpus(given: tuple[Gpu, ...]) -> Iterator[str]:
    """The device files of these GPUs and of no other, with what all GPUs need; nothing for none."""
    if given:
        for node in dict.fromkeys((*_DRIVER, *(node for gpu in given for node in gpu.nodes))):
            yield from ("--dev-bind-try", node, node)
        yield from ("--ro-bind-try", _DRIVER_LIBRARIES, _DRIVER_LIBRARIES)


def bind(how: str, host: Path, inside: str) -> Iterator[str]:
    yield from _parents(inside)
    yield from (how, str(host), inside)


def _parents(inside: str) -> Iterator[str]:
    """Left to itself, bubblewrap makes missing parents unreadable to other users."""
    for parent in reversed(PurePosixPath(inside).parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(parent))


def closed() -> list[str]:
    return ["--remount-ro", "/dev", "--remount-ro", "/"]


def environment() -> dict[str, str]:
    path = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "HOME": HOME, "TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "agent"}  # noqa: S108 -- inside
