"""Print the part of requirements.lock that the named distributions need, hashes included.

    python tools/locked.py firetrial-runner firetrial-kit > runner.txt
    pip install --no-deps --require-hashes -r runner.txt
    python tools/locked.py firetrial-analyzer --without matplotlib  # nor what it alone asks for

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


def closure(
    text: str, roots: set[str], named: AbstractSet[str] = frozenset(), without: AbstractSet[str] = frozenset()
) -> str:
    """The entries that `roots` ask for, those `named`, and all that these ask for, in the lock's order.

    What is `without` is left out with all that it alone asks for. Raises ValueError for what the lock lacks.
    """
    lock, wanted, grown = entries(text), set(roots) | named, True
    if unknown := without - {name for name, *_ in lock}:
        raise ValueError(f"the lock has no {', '.join(sorted(unknown))}")
    while grown:
        new = {name for name, _, askers in lock if askers & wanted} - wanted - without
        wanted |= new
        grown = bool(new)
    return "".join(lines for name, lines, _ in lock if name in wanted)


if __name__ == "__main__":
    roots, _, without = (set(part.split()) for part in " ".join(sys.argv[1:]).partition("--without"))
    if not roots:
        sys.exit(
            "usage: locked.py DISTRIBUTION… [--without PACKAGE…] (for example firetrial-runner firetrial-kit)"
        )
    print(closure(LOCK.read_text(), roots, without=without), end="")
