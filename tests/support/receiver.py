"""An HTTP server that receives webhooks, in good ways and in bad ones."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.pki import Signed


@dataclass(slots=True)
class Receiver:
    """What came, by path; `ways` says how a path answers, one after another, and the last one goes on.

    "200", "503+2" …: that status, and what to wait. "hang": nothing. "drip": a byte of the answer a second.
    "redirect": to a cloud's metadata. "huge": an answer without end. "close": no answer.
    `endless` has the bytes that each answer without end came to.
    """

    port: int = 0
    ways: dict[str, list[str]] = field(default_factory=dict)
    came: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    endless: list[int] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def events(self, path: str) -> list[dict[str, Any]]:
        """The bodies that came to a path, in order."""
        return [json.loads(body) for place, _, body in list(self.came) if place == f"/{path}"]

    def ids(self, path: str) -> list[str]:
        return [headers["webhook-id"] for place, headers, _ in list(self.came) if place == f"/{path}"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        found = self.server.receiver
        body = self.rfile.read(size := int(self.headers["content-length"]))
        if len(body) < size:  # its sender was killed
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        found.came.append((self.path, headers, body))
        due = found.ways.get(self.path[1:], ["200"])
        way = due.pop(0) if len(due) > 1 else due[0]
        with suppress(ConnectionError, BrokenPipeError):
            getattr(self, f"_{way}", self._status)(way)

    def _status(self, way: str) -> None:
        status, _, wait = way.partition("+")
        self.send_response(int(status))
        if wait:
            self.send_header("retry-after", wait)
        self.send_header("content-length", "0")
        self.end_headers()

    def _hang(self, _: str) -> None:
        self.server.receiver.over.wait(60)
        self.close_connection = True

    def _drip(self, _: str) -> None:
        for char in b"HTTP/1.1 200 OK\r\n" * 10:
            self.wfile.write(bytes([char]))
            self.wfile.flush()
            if self.server.receiver.over.wait(1):
                break
        self.close_connection = True

    def _redirect(self, _: str) -> None:
        self.send_response(307)
        self.send_header("location", "http://169.254.169.254/latest/meta-data/")
        self.send_header("content-length", "0")
        self.end_headers()

    def _huge(self, _: str) -> None:
        self.send_response(200)
        self.end_headers()
        sent, until = 0, time.monotonic() + 20
        try:
            while time.monotonic() < until and not self.server.receiver.over.is_set():
                self.wfile.write(b"x" * 65536)
                sent += 65536
        finally:
            self.server.receiver.endless.append(sent)

    def _close(self, _: str) -> None:
        self.close_connection = True
        self.connection.close()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: Receiver

    def handle_error(self, *_: Any) -> None:
        """A client that turns away is no fault of the test."""


@contextmanager
def receiving(certificate: Signed | None = None) -> Iterator[Receiver]:
    """A receiver on the loopback, by TLS where it has a certificate."""
    server = _Server(("127.0.0.1", 0), _Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.cert, certificate.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.receiver = Receiver(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.receiver
    finally:
        server.receiver.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
