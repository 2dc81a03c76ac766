"""A Docker engine for tests, started by hand where root can: real containers without a registry.

python tests/support/docker_engine.py COMMAND… runs COMMAND with DOCKER_HOST set to it (and with an image to
use in FIRETRIAL_TEST_IMAGE), and leaves nothing behind. With --builder, there is an image that others can be
built on too, in FIRETRIAL_TEST_BUILDER.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import docker
import docker.errors
import requests

IMAGE, BUILDER = "firetrial-test-base", "firetrial-test-builder"
_START_S = 60
_INCLUDE = {IMAGE: "python3-minimal,libpython3-stdlib", BUILDER: "python3,python3-venv,ca-certificates"}
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True, slots=True)
class Engine:
    """url for DOCKER_HOST, and an image in it that has /bin/sh, coreutils and python3."""

    url: str
    image: str


def why_not() -> str:
    """Why no engine can be started here, or ""."""
    if os.geteuid() != 0:
        return "only root can start a Docker engine"
    missing = [name for name in ("dockerd", "debootstrap") if shutil.which(name) is None]
    return f"no program {' or '.join(missing)} on this machine" if missing else ""


@contextmanager
def engine(folder: Path, *, builder: bool = False) -> Iterator[Engine]:
    """An engine that keeps everything below `folder`; stopped at the end. `builder`: with that image too."""
    with _started(folder) as url:
        _import(IMAGE, folder, url)
        if builder:
            _import(BUILDER, folder, url)
        yield Engine(url, IMAGE)


@contextmanager
def _started(folder: Path) -> Iterator[str]:
    """dockerd with everything it keeps below `folder`. It makes no bridge and touches no firewall."""
    url = f"unix://{folder}/docker.sock"
    options = {"data-root": "data", "exec-root": "exec", "pidfile": "docker.pid"}
    argv = ["dockerd", "-H", url, "--iptables=false", "--bridge=none"]
    argv += [f"--{name}={folder / path}" for name, path in options.items()]
    with (folder / "dockerd.log").open("wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait(process, url, folder / "dockerd.log")
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _unmount(folder)


def _unmount(folder: Path) -> None:
    """What an engine leaves mounted: the host's network where a container used it, what it was killed in."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in reversed([path for path in mounts if path.startswith(f"{folder}/")]):
        subprocess.run(["umount", "--lazy", mount], check=True)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            with closing(docker.DockerClient(base_url=url)) as client:
                client.ping()
        except (docker.errors.DockerException, requests.exceptions.RequestException):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"dockerd did not start:\n{log.read_text()[-3000:]}") from None
            time.sleep(0.2)
        else:
            return


def _import(image: str, folder: Path, url: str) -> None:
    """An image from the machine's own package mirror."""
    root = folder / "base"
    options = ["--variant=minbase", f"--include={_INCLUDE[image]}"]
    argv = ["debootstrap", *options, _suite(), str(root), _mirror()]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    if image == BUILDER:
        _equip(root)
    with (
        subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar,
        closing(docker.DockerClient(base_url=url, timeout=300)) as client,
    ):
        client.api.import_image_from_stream(tar.stdout, repository=image)
    shutil.rmtree(root)


def _equip(root: Path) -> None:
    """What upstream's images of Python have: a new one in /usr/local, where this machine's can be copied.

    And the authorities that this machine trusts: its package index may be signed by one of its own.
    """
    shutil.copy(_CERTIFICATES, root / _CERTIFICATES.relative_to("/"))
    (root / "etc/pip.conf").write_text(f"[global]\ncert = {_CERTIFICATES}\n")
    if prefix := newer_python():
        shutil.copytree(prefix, root / "usr/local", symlinks=True, dirs_exist_ok=True)
        subprocess.run(["ldconfig", "-r", str(root)], check=True)


def newer_python() -> Path | None:
    """The tree of FIRETRIAL_TEST_PYTHON or of python3.12, where it holds nothing but Python."""
    program = os.environ.get("FIRETRIAL_TEST_PYTHON") or shutil.which("python3.12")
    if program is None:
        return None
    told = subprocess.run(
        [program, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True
    )
    prefix = Path(told.stdout.strip() or "/usr")
    return None if prefix in {Path("/usr"), Path("/usr/local")} else prefix


def _suite() -> str:
    lines = Path("/etc/os-release").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("VERSION_CODENAME="))


def _mirror() -> str:
    told = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE)|$(RELEASE)|$(COMPONENT)"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    suite = _suite()
    return next(line.split("|")[0] for line in told.splitlines() if line.split("|")[1:] == [suite, "main"])


def main(command: list[str]) -> int:
    if why := why_not():
        sys.exit(why)
    builder = command[:1] == ["--builder"]
    command = command[builder:]
    with (
        # A short path: a Unix socket's name has at most 107 bytes.
        tempfile.TemporaryDirectory(prefix="ft-docker-") as folder,
        engine(Path(folder), builder=builder) as found,
    ):
        told = {"DOCKER_HOST": found.url, "FIRETRIAL_TEST_IMAGE": found.image}
        environ = {**os.environ, **told, **({"FIRETRIAL_TEST_BUILDER": BUILDER} if builder else {})}
        return subprocess.run(command, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
