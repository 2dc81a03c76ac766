"""Prove that one service stands alone.

    python tools/isolated.py runner

Makes an environment from the lock with that service and what it needs, then imports all of it, runs its
unit tests, and sees that the packages which belong to other services are absent.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from locked import LOCK, closure

ROOT = Path(__file__).resolve().parents[1]
# What must not be there: a runner that could call a model, a judge that could start a container, …
FORBIDDEN = {
    "parser": [
        "docker",
        "onnxruntime",
        "matplotlib",
        "firetrial_runner",
        "firetrial_judge",
        "firetrial_analyzer",
    ],
    "runner": [
        "openai",
        "onnxruntime",
        "pypdfium2",
        "firetrial_parser",
        "firetrial_judge",
        "firetrial_analyzer",
    ],
    "judge": [
        "docker",
        "pypdfium2",
        "matplotlib",
        "firetrial_parser",
        "firetrial_runner",
        "firetrial_analyzer",
    ],
    "analyzer": [
        "docker",
        "onnxruntime",
        "firetrial_parser",
        "firetrial_runner",
        "firetrial_judge",
    ],
}
TEST_TOOLS = {"pytest", "pytest-asyncio", "pytest-timeout", "hypothesis"}
IMPORT_ALL = """
import importlib, importlib.util, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
there = [name for name in sys.argv[2:] if importlib.util.find_spec(name)]
sys.exit(f"these belong to other services: {', '.join(there)}" if there else 0)
"""


def main(service: str) -> None:
    """Raises CalledProcessError where the service does not stand alone."""
    with tempfile.TemporaryDirectory(prefix=f"firetrial-{service}-") as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        own = {f"firetrial-{service}", "firetrial-kit", "firetrial-protos", "pyproject.toml:build"}
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(closure(LOCK.read_text(), own, TEST_TOOLS))
        install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
        install += ["--disable-pip-version-check", "--no-deps", "--no-compile"]
        subprocess.run([*install, "--require-hashes", "-r", str(wanted)], check=True)
        sources = [
            str(ROOT / "libs" / "protos"),
            str(ROOT / "libs" / "kit"),
            str(ROOT / "services" / service),
        ]
        subprocess.run([*install, "--no-build-isolation", *sources], check=True)
        package = f"firetrial_{service}"
        subprocess.run([python, "-c", IMPORT_ALL, package, *FORBIDDEN[service]], check=True, cwd=folder)
        tests = ["-q", "-p", "no:cacheprovider", str(ROOT / "tests" / "unit" / service)]
        environ = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        subprocess.run([python, "-m", "pytest", *tests], check=True, cwd=ROOT, env=environ)
    print(f"{service}: stands alone")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in FORBIDDEN:
        sys.exit(f"usage: isolated.py {'|'.join(FORBIDDEN)}")
    try:
        main(sys.argv[1])
    except subprocess.CalledProcessError as error:
        sys.exit(f"{sys.argv[1]} does not stand alone: {error}")
