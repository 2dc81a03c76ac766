"""Firetrial as it is deployed, without containers: the deployed files, real servers, four processes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from firetrial_kit.s3 import S3Objects
from support import servers, tls
from support.cluster import SERVICES, Cluster
from support.envoy import Envoy, envoy
from support.tls import DEPLOY


@contextmanager
def nats(folder: Path, secrets: Path, config: str = "nats.conf", *more: str) -> Iterator[str]:
    """nats-server with a file of deploy/nats as it stands; its port and its folder are told beside it."""
    shutil.copytree(DEPLOY / "nats", folder, dirs_exist_ok=True)
    (folder / "secrets").symlink_to(secrets / "nats")
    port, watched = servers.free_port(), servers.free_port()
    argv = [str(servers.BIN / "nats-server"), "-c", str(folder / config), "-a", "127.0.0.1"]
    argv += ["-p", str(port), "-m", str(watched), "-sd", str(folder / "data"), *more]
    with (folder / "nats.log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=folder)

    def healthy() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"nats-server ended: {(folder / 'nats.log').read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{watched}/healthz", timeout=1) as answer:
                return bool(json.load(answer)["status"] == "ok")
        except OSError:
            return False

    try:
        if not more:  # one of several is healthy with the others
            servers.wait_for(healthy, "nats-server")
        yield f"tls://localhost:{port}"
    finally:
        servers.end(process)


@dataclass(frozen=True, slots=True)
class Broker:
    """A server with its streams, and the secrets of its users."""

    url: str
    secrets: Path

    @property
    def authority(self) -> Path:
        return self.secrets / "authority" / "ca.pem"

    def password(self, user: str) -> str:
        return (self.secrets / user / "nats-password").read_text()

    def settings(self, name: str) -> dict[str, str]:
        """Those by which one user is known."""
        return user(name, self.secrets, self.url)


@contextmanager
def broker(folder: Path, secrets: Path | None = None) -> Iterator[Broker]:
    """One server as deployed, with the endpoint `lab` for webhooks where the secrets are made here."""
    folder.mkdir(exist_ok=True)
    secrets = secrets or tls.secrets(folder / "secrets", webhooks="lab")
    with nats(folder / "nats", secrets) as url:
        make_streams(secrets, url)
        yield Broker(url, secrets)


def user(name: str, secrets: Path, url: str) -> dict[str, str]:
    """The settings by which one user of the broker is known."""
    return {
        "FIRETRIAL_NATS_URL": url,
        "FIRETRIAL_NATS_TLS_CA": str(secrets / "authority" / "ca.pem"),
        "FIRETRIAL_NATS_USER": name,
        "FIRETRIAL_NATS_PASSWORD_FILE": str(secrets / name / "nats-password"),
    }


def make_streams(secrets: Path, url: str, *options: str) -> None:
    """What the one-shot job does, which is started again where a cluster has no leader yet."""
    argv = [sys.executable, "-m", "firetrial_kit.streams", "make", *options]
    environ = {**os.environ, **user("operator", secrets, url), "FIRETRIAL_OBJECTS_URL": "file:///nowhere"}
    for _ in range(5):
        ended = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=60)
        if ended.returncode == 0:
            return
        time.sleep(1)
    raise RuntimeError(ended.stderr)


def _service(name: str, secrets: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """A service's own settings; one process reads those of its own name."""
    told = {
        "NATS_USER": name,
        "NATS_PASSWORD_FILE": str(secrets / name / "nats-password"),
        "TLS_CERT": str(secrets / name / "tls.pem"),
        "TLS_KEY": str(secrets / name / "tls.key"),
        "TOKENS_FILE": str(secrets / name / "tokens.yaml"),
    }
    asked = {"parser": "judge", "judge": "analyzer"}.get(name)
    if asked:
        told[f"{asked.upper()}_ADDRESS"] = f"localhost:{ports[asked]}"
        told[f"{asked.upper()}_TLS_CA"] = str(secrets / name / "ca.pem")
    return {f"FIRETRIAL_{name.upper()}_{key}": value for key, value in told.items()}


@dataclass(frozen=True, slots=True)
class Deployed:
    """`environ` is what a client of the endpoint is told."""

    cluster: Cluster
    envoy: Envoy
    secrets: Path
    nats_url: str

    @property
    def environ(self) -> dict[str, str]:
        return {
            "FIRETRIAL_ENDPOINT": f"localhost:{self.envoy.port}",
            "FIRETRIAL_TLS_CA": str(self.secrets / "client" / "ca.pem"),
            "FIRETRIAL_TOKEN_FILE": str(self.secrets / "client" / "token"),
        }


@contextmanager
def deployed(folder: Path, secrets: Path, s3: servers.S3) -> Iterator[Deployed]:
    """Everything, running; each part is ended in good order."""
    asyncio.run(S3Objects(s3.url, *s3.keys["admin"]).ensure_buckets())
    ports = {name: servers.free_port() for name in SERVICES}
    environ = {
        "FIRETRIAL_NATS_TLS_CA": str(secrets / "authority" / "ca.pem"),
        "FIRETRIAL_TLS_CLIENT_CA": str(secrets / "authority" / "ca.pem"),
    }
    for name in SERVICES:
        environ |= _service(name, secrets, ports)
    with ExitStack() as stack:
        url = stack.enter_context(nats(folder / "nats", secrets))
        make_streams(secrets, url)
        cluster = Cluster(folder, url, s3, environ, ports=ports)
        stack.callback(_stop, cluster)
        cluster.start(*SERVICES)
        proxy = stack.enter_context(envoy(folder / "envoy", secrets / "envoy", ports))
        yield Deployed(cluster, proxy, secrets, url)


def _stop(cluster: Cluster) -> None:
    for process in cluster.processes.values():
        if process.poll() is None:
            process.terminate()
    for process in cluster.processes.values():
        servers.end(process)
