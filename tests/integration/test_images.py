"""The images as `make images` builds them: each service starts, answers probes, holds its own alone."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from isolated import FORBIDDEN

pytestmark = [pytest.mark.needs("docker", "images", "nats-server"), pytest.mark.timeout(180)]
SERVICES = ("parser", "runner", "judge", "analyzer")
MORE = "import importlib.util as u, sys; sys.exit(', '.join(n for n in sys.argv[1:] if u.find_spec(n)) or 0)"


@pytest.fixture
def client() -> Iterator[Any]:
    with contextlib.closing(docker.DockerClient(base_url=os.environ["DOCKER_HOST"])) as client:
        yield client


def image(service: str) -> str:
    return f"firetrial-{service}:{os.environ['FIRETRIAL_TEST_IMAGES']}"


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, client: Any, nats_url: str) -> Iterator[tuple[str, Any]]:
    """(its name, its container), on the host's network: the broker listens on the loopback."""
    path = os.environ["DOCKER_HOST"].removeprefix("unix://")
    settings = {
        "FIRETRIAL_NATS_URL": nats_url,
        "FIRETRIAL_OBJECTS_URL": "file:///var/lib/firetrial/objects",
        "FIRETRIAL_RUNNER_SANDBOX": "docker",
        "FIRETRIAL_RUNNER_DOCKER_HOST": f"unix://{path}",
        "FIRETRIAL_RUNNER_DOCKER_IMAGE": os.environ["FIRETRIAL_TEST_IMAGE"],
    }
    found = client.containers.run(
        image(request.param),
        detach=True,
        environment=settings,
        network_mode="host",
        read_only=True,
        tmpfs={"/tmp": "", "/var/lib/firetrial": "uid=10001"},
        volumes={path: {"bind": path}},
        group_add=[str(Path(path).stat().st_gid)],
    )
    yield request.param, found
    found.remove(force=True, v=True)


def health(container: Any) -> str:
    container.reload()
    return str(container.attrs["State"]["Health"]["Status"])


def test_it_serves_as_nobody_and_ends_in_good_order(service: tuple[str, Any]) -> None:
    name, container = service
    until = time.monotonic() + 120
    while health(container) != "healthy":
        assert container.attrs["State"]["Running"], container.logs()[-2000:]
        assert time.monotonic() < until, container.logs()[-2000:]
        time.sleep(0.5)
    assert container.exec_run(["id", "-u"]).output == b"10001\n"
    assert container.exec_run(["python", "-c", MORE, "pip", "hatchling", *FORBIDDEN[name]]).output == b""
    container.stop(timeout=30)
    assert container.wait()["StatusCode"] == 0, container.logs()[-2000:]


@pytest.mark.parametrize("name", SERVICES)
def test_without_settings_it_says_what_is_missing(client: Any, name: str) -> None:
    container = client.containers.run(image(name), detach=True, network_mode="none")
    try:
        assert container.wait(timeout=60)["StatusCode"] == 2
        assert b"FIRETRIAL_OBJECTS_URL" in container.logs()
    finally:
        container.remove(force=True)


def test_operators_have_every_command_and_know_the_records_of_all_services(client: Any) -> None:
    def said(*command: str) -> str:
        told = client.containers.run(
            image("operate"),
            list(command),
            remove=True,
            stderr=True,
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
        )
        return str(told.decode())

    for command in ((), ("firetrial", "admin", "--help"), ("firetrial", "webhooks", "--help")):
        assert "cannot be loaded" not in said(*command)
    assert "rebuild-state" in said("firetrial", "admin", "--help")
    stewards = (
        "from firetrial_operate.admin.services import SERVICES, stewards; print(len(stewards(*SERVICES)))"
    )
    assert said("python", "-c", stewards) == "4\n"
    assert said("id", "-u") == "10001\n"
    assert said("python", "-c", MORE, "pip", "hatchling") == ""
