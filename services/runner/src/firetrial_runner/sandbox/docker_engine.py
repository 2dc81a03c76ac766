"""Whether a Docker engine holds what it is asked to: it starts a container all the same where it cannot."""

from collections.abc import Iterator, Mapping
from pathlib import Path

_HELD = {
    "MemoryLimit": "memory",
    "PidsLimit": "processes",
    "CpuCfsQuota": "CPU time",
}
"""What the engine's `info` says that it can hold, and what that is to a run."""
_SWAPS = Path("/proc/swaps")
_OWN_PROFILES = ("builtin", "default")


def shortcomings(info: Mapping[str, object], swaps: Path = _SWAPS) -> Iterator[str]:
    """What an engine of these properties (`docker info`) would let a run do, each with a cure."""
    if info.get("OSType") != "linux":
        yield f"it runs {info.get('OSType')} containers: switch it to Linux containers"
    loose = [what for name, what in _HELD.items() if not info.get(name)]
    if loose:
        yield f"it holds no limit of {', '.join(loose)}: give it control groups of its own"
    if not info.get("SwapLimit") and _swaps(swaps):
        yield "memory may be swapped without limit: boot with swapaccount=1, or turn swap off"
    security = security_of(info)
    if "seccomp" not in security:
        yield "it filters no system calls: it needs a kernel and a build with seccomp"
    for name in ("rootless", "userns"):
        if name in security:
            yield f"its users are others than this machine's ({name}): use one without, or bubblewrap"


def brings_a_filter(info: Mapping[str, object], since: int) -> bool:
    """Whether its own filter of system calls is in force, and as new as that of version `since`."""
    major = str(info.get("ServerVersion", "")).partition(".")[0]
    recent = major.isdigit() and int(major) >= since
    return recent and security_of(info).get("seccomp") in _OWN_PROFILES


def security_of(info: Mapping[str, object]) -> dict[str, str]:
    """Its security options by name, each with its profile, which may be ""."""
    told = info.get("SecurityOptions")
    found = {}
    for option in told if isinstance(told, list) else ():
        parts = dict(part.partition("=")[::2] for part in str(option).split(","))
        found[parts.get("name", "")] = parts.get("profile", "")
    return found


def _swaps(path: Path) -> bool:
    return path.exists() and len(path.read_text().splitlines()) > 1
