"""deploy/compose, started as an operator starts it, on an engine of its own (make test-compose).

Our images are the built ones; upstream's are stood in for by the same programs from packages (tests/compose).
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from support import compose, servers
from support.cluster import SERVICES
from support.tls import DEPLOY

pytestmark = [pytest.mark.needs("docker", "images", "compose", "weed", "envoy"), pytest.mark.timeout(900)]
HERE = Path(__file__).resolve().parents[1] / "compose"
STANDINS = ("nats", "objects", "envoy", "prometheus", "alertmanager")
PROJECT = "firetrial-test"
ONCE = {"secrets", "setup"}


@dataclass(frozen=True, slots=True)
class Stack:
    folder: Path
    environ: dict[str, str]

    def compose(self, *options: str, seconds: float = 400) -> str:
        files = compose.argv(self.folder / "compose" / "compose.yaml", "-f", str(HERE / "standins.yaml"))
        return self._ran([*files, "-p", PROJECT, *options], seconds)

    def firetrial(self, *options: str) -> str:
        return self._ran([str(servers.BIN / "firetrial"), *options], 300)

    def _ran(self, argv: list[str], seconds: float) -> str:
        ended = subprocess.run(argv, env=self.environ, capture_output=True, text=True, timeout=seconds)
        assert ended.returncode == 0, (argv, ended.stdout[-4000:], ended.stderr[-4000:])
        return ended.stdout

    def inside(self, service: str, *argv: str) -> str:
        return self.compose("exec", "-T", service, *argv)


def _stand_ins(folder: Path) -> dict[str, str]:
    """Built here; gives the variables of .env that name them."""
    folder.mkdir()
    brought = importlib.util.find_spec("envoy")
    assert brought is not None
    assert brought.origin is not None
    proxy = Path(brought.origin).parent / "_bin" / "envoy"
    programs = [servers.BIN / "nats-server", servers.BIN / "weed", proxy]
    for path in (*programs, HERE / "Dockerfile", HERE / "objects.py"):
        shutil.copy(path, folder / path.name)
    with closing(docker.DockerClient(base_url=os.environ["DOCKER_HOST"], timeout=600)) as client:
        for name in STANDINS:
            client.images.build(
                path=str(folder),
                target=name,
                tag=f"firetrial-standin-{name}",
                network_mode="host",
                buildargs={"BASE": os.environ["FIRETRIAL_TEST_BUILDER"]},
                rm=True,
            )
    return {f"{name.upper()}_IMAGE": f"firetrial-standin-{name}" for name in STANDINS}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("stack")
    shutil.copytree(DEPLOY, folder / "deploy", ignore=shutil.ignore_patterns("secrets", ".env"))
    secrets, grants = folder / "deploy" / "compose" / "secrets", folder / "grants.json"
    told = subprocess.run(
        [sys.executable, "-m", "firetrial_kit.buckets", "grants"], check=True, capture_output=True
    )
    grants.write_bytes(told.stdout)
    shutil.copy(DEPLOY / "compose" / "webhooks.example.yaml", folder / "deploy" / "compose" / "webhooks.yaml")
    (secrets / "webhooks").mkdir(parents=True)
    (secrets / "webhooks" / "lab").write_bytes(base64.b64encode(bytes(32)))
    endpoint = f"127.0.0.1:{servers.free_port()}"
    environ = {
        **os.environ,
        **_stand_ins(folder / "standins"),
        "TAG": os.environ["FIRETRIAL_TEST_IMAGES"],
        "SECRETS": str(secrets),
        "GRANTS": str(grants),
        "ENDPOINT": endpoint,
        "WATCHING": f"127.0.0.1:{servers.free_port()}",
        # Three servers of the broker: the one alone is what tests/e2e/test_deployed.py starts.
        "COMPOSE_PROFILES": "cluster,webhooks",
        "WEBHOOKS": "lab",
        "NATS_CONFIG": "cluster.conf",
        "NATS_REPLICAS": "3",
        "BROKER_URL": "tls://nats:4222,tls://nats-2:4222,tls://nats-3:4222",
        "RUNNER_CPUS": "2",
        "RUNNER_MEMORY": "4g",
        "FIRETRIAL_ENDPOINT": endpoint.replace("127.0.0.1", "localhost"),
        "FIRETRIAL_TLS_CA": str(secrets / "client" / "ca.pem"),
        "FIRETRIAL_TOKEN_FILE": str(secrets / "client" / "token"),
    }
    found = Stack(folder / "deploy", environ)
    try:
        started = time.monotonic()
        found.compose("up", "-d", "--wait")
        sys.stderr.write(f"\nup in {time.monotonic() - started:.0f} s\n")
        yield found
    finally:
        found.compose("--profile", "*", "down", "--volumes")
    with closing(docker.DockerClient(base_url=os.environ["DOCKER_HOST"])) as client:
        ours: dict[str, str | list[str] | bool] = {"label": f"com.docker.compose.project={PROJECT}"}
        left = [client.containers.list(all=True, filters=ours), client.networks.list(filters=ours)]
        assert [*left, client.volumes.list(filters=ours)] == [[], [], []]


def test_an_experiment_through_the_endpoint(stack: Stack, tmp_path: Path) -> None:
    assert json.loads(stack.firetrial("status", "--json"))["services"] == dict.fromkeys(SERVICES, "serving")
    told = stack.firetrial("demo", "--repeats", "1", "--out", str(tmp_path / "out"), "--json")
    assert '"scored": 3' in told
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    for name in SERVICES:
        assert "permissions violation" not in stack.compose("logs", name).lower(), name


def test_the_broker_outlives_one_of_its_servers(stack: Stack) -> None:
    """And who has no Python on the machine asks from the operators' container."""
    stack.compose("stop", "nats-2")
    demo = ("firetrial", "demo", "--repeats", "1", "--out", "/tmp/demo", "--json")
    told = stack.compose("run", "--rm", "-T", "operate", *demo)
    assert '"scored": 3' in told
    stack.compose("up", "-d", "--wait", "--no-recreate", "nats-2")


def test_runners_are_scaled_alone(stack: Stack, tmp_path: Path) -> None:
    stack.compose("up", "-d", "--wait", "--no-recreate", "--scale", "runner=2", "runner")
    told = stack.firetrial("demo", "--repeats", "2", "--out", str(tmp_path / "out"), "--json")
    assert '"scored": 6' in told
    stack.compose("up", "-d", "--wait", "--no-recreate", "--scale", "runner=1", "runner")


def test_what_runs_has_no_rights(stack: Stack) -> None:
    for name in (*SERVICES, "nats", "objects", "envoy", "webhooks"):
        assert stack.inside(name, "id", "-u").strip() == "10001"
        status = dict(
            line.split(":\t", 1) for line in stack.inside(name, "cat", "/proc/1/status").splitlines()
        )
        assert {status[each] for each in ("CapPrm", "CapEff", "CapBnd")} == {"0" * 16}, name
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), name
        with pytest.raises(AssertionError, match="Read-only file system"):
            stack.inside(name, "touch", "/usr/x")
    machine = next(
        line
        for line in stack.compose("logs", "--no-log-prefix", "runner").splitlines()
        if '"machine"' in line
    )
    assert json.loads(machine)["sandbox"] == "bubblewrap"


def test_prometheus_sees_everything_and_knows_its_rules(stack: Stack) -> None:
    def asked(path: str) -> Any:
        return json.loads(stack.inside("prometheus", "curl", "-s", f"localhost:9090/api/v1/{path}"))["data"]

    def up() -> set[str]:
        return {each["labels"]["job"] for each in asked("targets")["activeTargets"] if each["health"] == "up"}

    wanted = {f"firetrial-{name}" for name in (*SERVICES, "webhooks")}
    servers.wait_for(lambda: up() >= wanted, "targets", 90)
    assert asked("rules")["groups"]
    assert [each["url"] for each in asked("alertmanagers")["activeAlertmanagers"]]


def test_an_operator_sees_and_keeps_all_of_it(stack: Stack) -> None:
    def operate(command: str) -> Any:
        told = stack.compose("run", "--rm", "-T", "operate", "sh", "-c", f"firetrial {command} --json || :")
        return json.loads(told)

    assert operate("status")["services"] == dict.fromkeys(SERVICES, "serving")
    found = {each["name"]: each for each in operate("doctor")}
    assert not [each for each in found.values() if each["state"] == "fail"]
    assert {"broker", "objects", "token", *(f"service.{name}" for name in SERVICES)} <= found.keys()
    assert {each["pool"] for each in operate("admin runners")} == {"default"}
    (told,) = (each for each in operate("admin consumers") if each["name"] == "webhook-lab")
    assert told["kind"] == "durable"
    assert operate("admin backup /backups/first")["count"] > 0
    assert "permissions violation" not in stack.compose("logs", "webhooks").lower()


def test_all_of_it_comes_back(stack: Stack) -> None:
    """The broker first, which everything waits for; state and objects are what they were."""
    before = stack.firetrial("agents", "list", "--json")
    stack.compose("stop")
    for name in SERVICES:
        ended = stack.compose("ps", "-a", "--format", "{{.ExitCode}}", name).split()
        assert set(ended) == {"0"}, name
    stack.compose("up", "-d", "--wait")
    assert stack.firetrial("agents", "list", "--json") == before
