"""Envoy with the configuration that is deployed; only ports and paths are this machine's."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from support import servers
from support.tls import DEPLOY

CONFIG = DEPLOY / "envoy" / "envoy.yaml"
_SECRETS = "/etc/envoy/secrets/"
_LOCAL = "127.0.0.1"
_OWN, _INSIDE = (8443, 8444, 9901, 9902), (50051, 3000)


@dataclass(frozen=True, slots=True)
class Envoy:
    """Ports of the endpoint, the figures and the admin interface, and the file with all that Envoy said."""

    port: int
    figures: int
    admin: int
    log: Path

    def figure(self, path: str) -> str:
        """What the listener for figures answers. Raises HTTPError, or URLError where it does not."""
        with urllib.request.urlopen(f"http://{_LOCAL}:{self.figures}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def calls(self) -> list[dict[str, Any]]:
        """The access log."""
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


def configured(secrets: Path, ports: Mapping[int, int], upstreams: Mapping[str, int]) -> str:
    """The file with other ports to listen on, and leading to `upstreams` ports of this machine."""

    def moved(node: Any) -> Any:
        match node:
            case {"address": str(host), "port_value": int(port)}:
                moved_to = upstreams[host] if port in _INSIDE else ports[port]
                return {"address": _LOCAL, "port_value": moved_to}
            case {"filename": str(name)}:
                assert name.startswith(_SECRETS), name
                return {"filename": str(secrets / name.removeprefix(_SECRETS))}
            case dict():
                return {key: moved(value) for key, value in node.items()}
            case list():
                return [moved(value) for value in node]
        return node

    return json.dumps(moved(yaml.safe_load(CONFIG.read_text())))


@contextmanager
def envoy(folder: Path, secrets: Path, upstreams: Mapping[str, int]) -> Iterator[Envoy]:
    """A running Envoy in front of services on the `upstreams` ports; ended by its id."""
    folder.mkdir(parents=True, exist_ok=True)
    ports = {number: servers.free_port() for number in _OWN}
    config = folder / "envoy.yaml"
    config.write_text(configured(secrets, ports, {"grafana": servers.free_port(), **upstreams}))
    found = Envoy(ports[8443], ports[9901], ports[9902], folder / "envoy.log")
    argv = [str(servers.BIN / "envoy"), "-c", str(config), "--log-level", "warning"]
    argv += ["--concurrency", "1", "--use-dynamic-base-id", "--file-flush-interval-msec", "100"]
    with found.log.open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})

    def ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"envoy ended: {found.log.read_text()[-3000:]}")
        try:
            return found.figure("/ready").strip() == "LIVE"
        except OSError:
            return False

    try:
        servers.wait_for(ready, "envoy", 60)
        yield found
    finally:
        servers.end(process)
