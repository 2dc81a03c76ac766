"""Print the part of requirements.lock that the named distributions need, hashes included.

    python tools/locked.py firetrial-runner firetrial-kit > runner.txt
    pip install --no-deps --require-hashes -r runner.txt

The lock is one resolution for everything; each entry names who asked for it (`# via …`),
so the closure of a few distributions needs no resolver and no network.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Set as AbstractSet
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
NAME = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^\]]*\])?==")


def entries(text: str) -> list[tuple[str, str, frozenset[str]]]:
    """Split a lock into (package, its lines, the packages and groups that asked for it)."""
    found = []
    for block in re.split(r"\n(?=[a-z0-9])", text):
        named = NAME.match(block)
        if not named:
            continue
        _, _, via = block.partition("# via")
        askers = re.findall(r"[a-z0-9][a-z0-9._-]*(?::[a-z]+)?(?=[ )\n]|$)", via.replace("#", " "))
        found.append((named[1], block.rstrip() + "\n", frozenset(askers)))
    return found


def closure(text: str, roots: set[str], named: AbstractSet[str] = frozenset()) -> str:
    """The entries that `roots` ask for, those `named`, and all that these ask for, in the lock's order."""
    lock, wanted, grown = entries(text), set(roots) | named, True
    while grown:
        new = {name for name, _, askers in lock if askers & wanted} - wanted
        wanted |= new
        grown = bool(new)
    return "".join(lines for name, lines, _ in lock if name in wanted)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: locked.py DISTRIBUTION… (for example firetrial-runner firetrial-kit)")
    print(closure(LOCK.read_text(), set(sys.argv[1:])), end="")
