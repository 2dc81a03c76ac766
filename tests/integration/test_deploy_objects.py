"""What MinIO is asked to make, against a server that reads the admin protocol and keeps what it was told.

MinIO itself cannot be had here: this shows what is sent, signed and sealed as its own client does, not what
MinIO makes of it.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import urllib3
from minio.crypto import decrypt, encrypt

from firetrial_kit.buckets import policy
from firetrial_kit.objects import GRANTS

ROOT = ("root", "root-secret")


@dataclass(slots=True)
class Admin:
    """Users with their secrets, policies, and who has which."""

    users: dict[str, str] = field(default_factory=dict)
    policies: dict[str, Any] = field(default_factory=dict)
    attached: dict[str, list[str]] = field(default_factory=dict)
    url: str = ""


@pytest.fixture
def admin() -> Iterator[Admin]:
    found = Admin()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the base class's name

        def _answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers["content-length"]))

        def _unsealed(self) -> Any:
            sealed = urllib3.HTTPResponse(io.BytesIO(self._body()), preload_content=False)
            return json.loads(decrypt(sealed, ROOT[1]))

        def do_PUT(self) -> None:
            assert f"Credential={ROOT[0]}/" in self.headers["authorization"]
            url = urlsplit(self.path)
            asked = {key: values[0] for key, values in parse_qs(url.query).items()}
            match url.path.removeprefix("/minio/admin/v3/"):
                case "add-canned-policy":
                    found.policies[asked["name"]] = json.loads(self._body())
                case "add-user":
                    found.users[asked["accessKey"]] = self._unsealed()["secretKey"]
                case _:
                    raise AssertionError(url.path)
            self._answer(200)

        def do_POST(self) -> None:
            told = self._unsealed()
            if found.attached.get(told["user"]) == told["policies"]:
                self._answer(400, b'{"Code": "XMinioAdminPolicyChangeAlreadyApplied"}')
            else:
                found.attached[told["user"]] = told["policies"]
                self._answer(200, encrypt(b"{}", ROOT[1]))

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def make(admin: Admin, folder: Path, secret: str = ROOT[1]) -> subprocess.CompletedProcess[str]:
    environ = {
        "FIRETRIAL_OBJECTS_URL": admin.url,
        "FIRETRIAL_S3_ACCESS_KEY": ROOT[0],
        "FIRETRIAL_S3_SECRET_KEY": secret,
    }
    argv = [sys.executable, "-m", "firetrial_kit.minio_users", str(folder)]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=60)


def test_each_service_is_a_user_with_its_own_secret_and_its_own_rights(admin: Admin, tmp_path: Path) -> None:
    for service in GRANTS:
        (tmp_path / f"{service}-s3-secret-key").write_text(f"secret of {service}\n")
    for _ in range(2):  # the second time everything is there
        made = make(admin, tmp_path)
        assert made.returncode == 0, made.stderr
    assert admin.users == {service: f"secret of {service}" for service in GRANTS}
    assert admin.policies == {f"firetrial-{service}": policy(service) for service in GRANTS}
    assert admin.attached == {service: [f"firetrial-{service}"] for service in GRANTS}


def test_a_secret_that_is_missing_is_named_and_none_is_shown(admin: Admin, tmp_path: Path) -> None:
    (tmp_path / "parser-s3-secret-key").write_text("secret of parser")
    made = make(admin, tmp_path)
    assert made.returncode == 1
    assert "runner-s3-secret-key" in made.stderr
    assert "secret of" not in made.stderr
