"""Several services in one process and behind one port: what `firetrial up` runs on one machine.

python -m firetrial_kit.host parser runner judge analyzer
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points

from firetrial_kit.service import Build, main

GROUP = "firetrial.services"


def installed() -> dict[str, Build]:
    """The `build` functions of the services installed here, by name."""
    return {point.name: point.load() for point in entry_points(group=GROUP)}


def run(names: Sequence[str]) -> None:
    """Run the named services, or all that are installed."""
    found = installed()
    unknown = [name for name in names if name not in found]
    if unknown or not found:
        there = ", ".join(sorted(found)) or "none"
        sys.exit(f"not installed here: {', '.join(unknown) or 'any service'}; installed: {there}")
    main({name: found[name] for name in names or sorted(found)}, os.environ)


if __name__ == "__main__":
    run(sys.argv[1:])
