"""What a command sees inside Apptainer, as its command line."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from firetrial_runner.sandbox import starting
from firetrial_runner.sandbox.port import GATEWAY_PORT, HOME, MIB, WORKSPACE, Limits, SandboxSpec
from firetrial_runner.sandbox.proctree import MARKS

MEETING = "/run/firetrial/gateway.sock"
"""Where the launcher calls from inside, to hand out its sockets and to say that it has begun."""
_ROOM = 64 * MIB
"""By how much Apptainer's own memory limit lies above ours: what is seen to pass ours is told as such."""


@dataclass(frozen=True, slots=True)
class Places:
    """Beside a run's workspace: the socket that the launcher calls at, and seccomp's profile."""

    meeting: Path
    profile: Path

    @classmethod
    def beside(cls, workspace: Path) -> "Places":
        name = workspace.name
        return cls(workspace.with_name(f"{name}.gateway"), workspace.with_name(f"{name}.seccomp.json"))


def options(spec: SandboxSpec, places: Places, uid: int | None) -> list[str]:
    """What `apptainer` is told, up to its limits and its image. `uid` is whom root makes of the command."""
    argv = ["exec", "--containall", "--no-home", "--no-eval", "--no-privs", "--pid", "--ipc"]
    argv += ["--uts", "--hostname", "sandbox", "--net", "--network", "none"]
    argv += ["--no-mount", "bind-paths,hostfs", "--scratch", HOME, "--pwd", WORKSPACE]
    argv += ["--security", f"seccomp:{places.profile}"]
    if uid is not None:
        argv += ["--security", f"uid:{uid}", "--security", f"gid:{uid}"]
    argv += mount(spec.workspace, WORKSPACE, writable=True)
    for inside, host in {starting.LAUNCHER: starting.script(), **spec.read_only}.items():
        argv += mount(host, inside)
    argv += mount(places.meeting, MEETING)
    return [*argv, "--nv" if spec.gpus else "--no-nv"]


def limiting(limits: Limits) -> list[str]:
    """Limits of the whole tree by a control group that Apptainer makes."""
    memory = str(limits.memory_bytes + _ROOM)
    cpus, processes = f"{limits.cpus:g}", str(limits.processes + 1)
    return ["--memory", memory, "--memory-swap", memory, "--cpus", cpus, "--pids-limit", processes]


def mount(host: Path, inside: str, *, writable: bool = False) -> list[str]:
    """A path of the host; the fields are CSV, so that a comma or a colon in a name is one."""
    fields = ["type=bind", f"source={host}", f"destination={inside}", *([] if writable else ["ro"])]
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return ["--mount", line.getvalue()]


def launch(spec: SandboxSpec, *, held: bool) -> list[str]:
    """What is started inside: the launcher, which becomes the command. HOME cannot be set from outside.

    It always calls: that is how one knows that it has begun. A run without a way out hands out one socket,
    which nobody keeps.
    """
    ports = [*spec.ways] or [GATEWAY_PORT]
    ways = {"ports": ports, "channel": MEETING}
    settings = starting.settings(spec.limits, held=held, ways=ways, env={"HOME": HOME})
    return ["python3", "-I", "-S", starting.LAUNCHER, settings, *spec.argv]


def environment(spec: SandboxSpec) -> Mapping[str, str]:
    """The environment to start Apptainer in: what is meant for the inside carries its prefix.

    So the run's token stands in no command line. The marks go in too: what is inside has no other environment
    to be known by.
    """
    marks = dict(zip(MARKS, (spec.run_key, spec.lease), strict=True))
    inside = {"TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "agent", **spec.environment()}  # noqa: S108 -- inside
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        **{f"APPTAINERENV_{name}": value for name, value in {**inside, **marks}.items() if name != "HOME"},
        **marks,
    }
