"""Hold requirements.lock against what the distributions ask for; exit 1 and say what is wrong."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from locked import LOCK, entries

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTIONS = sorted([*ROOT.glob("libs/*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml")])


def asked() -> list[tuple[str, str]]:
    """Every third-party package that a distribution asks for, with the distribution that does."""
    found = []
    for path in [*DISTRIBUTIONS, ROOT / "pyproject.toml"]:
        read = tomllib.loads(path.read_text())
        wanted = list(read["project"].get("dependencies", []))
        for extra in read["project"].get("optional-dependencies", {}).values():
            wanted += extra
        for group in read.get("dependency-groups", {}).values():
            wanted += group
        for requirement in wanted:
            name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower().replace("_", "-")
            if not name.startswith("firetrial-"):
                found.append((name, read["project"]["name"]))
    return found


def problems() -> list[str]:
    """What is wrong with the lock, one line each."""
    text = LOCK.read_text()
    locked = entries(text)
    found = [f"line {number} names a host: {line.strip()}" for number, line in enumerate(text.splitlines(), 1)
             if "://" in line or line.startswith("-")]  # fmt: skip
    found += [f"{name} has no hash" for name, lines, _ in locked if "--hash=sha256:" not in lines]
    askers = {name: known for name, _, known in locked}
    found += [f"{name} is not there for {who}" for name, who in asked() if who not in askers.get(name, ())]
    return found


if __name__ == "__main__":
    wrong = problems()
    if wrong:
        sys.exit("requirements.lock: " + "; ".join(wrong) + " (run make lock)")
    print("requirements.lock: hashed, names no host, complete")
