"""A small HTTP server for the pages of a process, which whoever reaches it cannot make costly.

It is open to all who can connect, in a process whose threads and files are needed for better things: so a
connection has one request, some seconds and one of few places.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

_PLACES = 64
_SECONDS = 10.0


class PageServer(ThreadingMixIn, WSGIServer):
    """Serves a WSGI application, each connection in a thread; `seconds` are all that one may take."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, *, places: int = _PLACES, seconds: float = _SECONDS) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._places, self._seconds = places, seconds
        self._ends: dict[Any, float] = {}
        super().__init__((host.strip("[]"), port), _Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - socketserver's signature
        """Whether there is a place: one that is turned away is closed at once."""
        if len(self._ends) >= self._places:
            return False
        self._ends[request] = time.monotonic() + self._seconds
        return True

    def shutdown_request(self, request: Any) -> None:
        self._ends.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called twice a second: whose time is over is hung up on, and its thread ends with an error."""
        now = time.monotonic()
        for request in [request for request, end in self._ends.copy().items() if end < now]:
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever hangs up, or is hung up on, is nobody's trouble."""


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing."""

    def address_string(self) -> str:
        return str(self.client_address[0])
