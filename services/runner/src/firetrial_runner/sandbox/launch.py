"""Runs inside a sandbox, before the command: sets its limits, gives up what is left of root, becomes it.

Started as `python -I -S launch.py SETTINGS PROGRAM ARGUMENT…`, SETTINGS being JSON:
{"uid": int | null, "workspace": str, "cores": [int] | null, "rlimits": {"NOFILE": int, …},
"ways": {"ports": [int], "channel": int | str} | null, "env": {str: str}}, the channel being an open file
or a path; `env` may be missing.
Needs the standard library only.
"""

import json
import os
import resource
import signal
import sys

_PR_CAPBSET_DROP = 24
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63


def _become(uid: int) -> None:
    """A user without name, groups or capabilities: not even in the bounding and inheritable sets."""
    import ctypes  # noqa: PLC0415 -- 8 ms that only root pays

    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(_LAST_CAPABILITY + 1):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails above the kernel's last one
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _listen(ports: list[int], channel: int | str) -> None:
    """Hand sockets that listen on this loopback to who answers there, and keep nothing of them."""
    import _socket as socket  # noqa: PLC0415 -- only where there is a way out; the module over it takes 10 ms

    listeners = []
    for port in ports:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(512)
        listeners.append(listener)
    if isinstance(channel, int):
        out = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, channel)
    else:
        out = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0)
        out.connect(channel)
    handles = b"".join(listener.fileno().to_bytes(4, sys.byteorder) for listener in listeners)
    out.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
    out.close()
    for listener in listeners:
        listener.close()


def main(settings: str, *argv: str) -> None:
    wanted = json.loads(settings)
    if wanted["uid"] is not None:
        _become(wanted["uid"])
    os.chdir(wanted["workspace"])  # only now: it may be closed to all but its owner
    os.environ.update(wanted.get("env", {}))
    if wanted["cores"] is not None:
        os.sched_setaffinity(0, wanted["cores"])
    for signum in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and exec would pass that on
        signal.signal(signum, signal.SIG_DFL)
    if wanted["ways"] is not None:
        _listen(**wanted["ways"])
    for name, value in wanted["rlimits"].items():
        _limit(getattr(resource, f"RLIMIT_{name}"), value)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 -- the sandbox is the point
    except OSError as e:
        sys.stderr.write(f"cannot start {argv[0]}: {e.strerror}\n")
        sys.exit(127 if isinstance(e, FileNotFoundError) else 126)


if __name__ == "__main__":
    main(*sys.argv[1:])
