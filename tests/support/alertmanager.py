"""A real Alertmanager with the deployed configuration, and somebody who hears what it says."""

from __future__ import annotations

import json
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from support import servers

CHANNELS = ("page", "ticket", "watchdog")


@dataclass(frozen=True, slots=True)
class Alert:
    """As Prometheus would post it, with at most one label that says of what."""

    name: str
    severity: str
    pool: str = ""
    job: str = ""
    service: str = ""
    backend: str = ""

    @property
    def of(self) -> str:
        return self.pool or self.job or self.service or self.backend

    def posted(self) -> dict[str, dict[str, str]]:
        labels = {"alertname": self.name, "severity": self.severity}
        labels |= {
            name: value for name in ("pool", "job", "service", "backend") if (value := getattr(self, name))
        }
        told = {"summary": f"summary {self.of}", "description": "description"}
        return {
            "labels": labels,
            "annotations": told | {"runbook_url": f"https://runbook.example/{self.name}.md"},
        }


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """One that runs; `_heard` are the messages by channel."""

    url: str
    _heard: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    def post(self, *alerts: Alert) -> None:
        httpx.post(f"{self.url}/api/v2/alerts", json=[a.posted() for a in alerts]).raise_for_status()

    def inhibited(self) -> dict[str, list[str]]:
        """Each alert as "name severity of-what", with the fingerprints of those that silence it."""
        found = {}
        for alert in httpx.get(f"{self.url}/api/v2/alerts").json():
            labels = dict(alert["labels"])
            name, severity = labels.pop("alertname"), labels.pop("severity")
            found[f"{name} {severity} {''.join(labels.values())}"] = alert["status"]["inhibitedBy"]
        return found

    def told(self, count: int) -> dict[str, list[dict[str, Any]]]:
        """Messages by channel, once there are `count` in all."""
        servers.wait_for(lambda: sum(map(len, self._heard.values())) >= count, f"{count} messages", 30)
        return dict(self._heard)


@contextmanager
def alertmanager(folder: Path, deployed: Path) -> Iterator[Alertmanager]:
    """Alertmanager under `folder` with `deployed`, in more of a hurry, and with its secrets filled in."""
    manager = Alertmanager(f"http://127.0.0.1:{servers.free_port()}")
    with _listener(manager._heard) as heard:
        text = deployed.read_text().replace("/run/secrets/", f"{folder}/")
        for channel in CHANNELS:
            (folder / f"alerts_{channel}_url").write_text(f"{heard}/{channel}")
        hurried = text.replace("group_wait: 30s", "group_wait: 1s").replace(
            "group_wait: 15s", "group_wait: 1s"
        )
        (folder / "alertmanager.yml").write_text(hurried)
        argv = ["prometheus-alertmanager", f"--config.file={folder / 'alertmanager.yml'}"]
        argv += [f"--storage.path={folder / 'data'}", f"--web.listen-address={manager.url[7:]}"]
        argv += ["--cluster.listen-address="]
        with (folder / "alertmanager.log").open("wb") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log)
        try:
            servers.wait_for(lambda: _ready(manager.url), "Alertmanager", 30)
            yield manager
        finally:
            servers.end(process)


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready", timeout=1).is_success
    except httpx.TransportError:
        return False


@contextmanager
def _listener(heard: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Takes every POST to /<channel>; gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            heard[self.path.strip("/")].append(json.loads(body))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
