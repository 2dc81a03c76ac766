"""What sandboxes without an engine leave on a machine: marked processes, and control groups."""

from collections.abc import Collection

from firetrial_runner.sandbox.cgroup import Cgroups
from firetrial_runner.sandbox.port import Leftover
from firetrial_runner.sandbox.proctree import kill_marked, marked


def found(cgroups: Cgroups | None) -> list[Leftover]:
    """Everything of any lease."""
    processes = [Leftover(run, lease, f"process {pid}") for pid, run, lease in marked()]
    return [*processes, *(_of_cgroup(name) for name in (cgroups.names() if cgroups else ()))]


def remove(cgroups: Cgroups | None, dead: Collection[str]) -> list[Leftover]:
    """Kill and remove what is of these leases; returns what that was. Blocks for moments."""
    gone = [Leftover(run, lease, f"process {pid}") for pid, run, lease in kill_marked(dead)]
    for name in cgroups.names() if cgroups else ():
        left = _of_cgroup(name)
        if cgroups and left.lease in dead:
            cgroups.existing(name).remove()
            gone.append(left)
    return gone


def _of_cgroup(name: str) -> Leftover:
    run, _, lease = name.partition(".")
    return Leftover(run, lease, f"cgroup {name}")
