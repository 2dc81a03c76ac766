"""What `launch.py` is told: it is the first thing inside a sandbox, and becomes the command."""

import json
import math
import os
import random
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from firetrial_runner.sandbox.port import GIB, WORKSPACE, Limits

LAUNCHER = "/run/firetrial/launch.py"
"""Where it is found inside."""


def script() -> Path:
    """Where it lies on this machine."""
    return Path(str(resources.files("firetrial_runner.sandbox").joinpath("launch.py")))


def settings(
    limits: Limits,
    *,
    held: bool,
    uid: int | None = None,
    ways: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Its settings. `held` where a control group holds the limits of the whole tree.

    `ways` are the ports to listen on, and the channel to hand them out by. `env` is set before the command.
    """
    told = {
        "uid": uid,
        "workspace": WORKSPACE,
        "cores": None if held else _cores(limits),
        "rlimits": _rlimits(limits, held=held),
        "ways": ways,
        "env": dict(env or {}),
    }
    return json.dumps(told)


def _rlimits(limits: Limits, *, held: bool) -> dict[str, int]:
    rlimits = {"CORE": 0, "FSIZE": limits.file_bytes, "NOFILE": limits.open_files}
    if not held:
        # The watcher needs a moment to see memory: this bounds what one process can take in it.
        # Address space would be the wrong measure: runtimes reserve far more of it than they use.
        rlimits["DATA"] = 4 * limits.memory_bytes + GIB
        rlimits["NPROC"] = limits.processes + 1  # the sandbox's own process 1
    return rlimits


def _cores(limits: Limits) -> list[int]:
    mine = sorted(os.sched_getaffinity(0))
    return random.sample(mine, min(len(mine), math.ceil(limits.cpus)))
