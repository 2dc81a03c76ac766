"""The page of metrics against those who reach its port and mean no good."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from threading import Thread
from typing import Any

import pytest
from prometheus_client import make_wsgi_app

from firetrial_kit import metrics
from firetrial_kit.pages import PageServer
from support import servers


def read(port: int, path: str = "/metrics") -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as page:
        page.read()
        return int(page.status)


def halves(port: int, count: int, stack: ExitStack) -> list[socket.socket]:
    found = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(count)]
    for one in found:
        one.sendall(b"GET /metr")
    return found


@pytest.fixture
def port() -> Iterator[int]:
    server = PageServer("127.0.0.1", 0, places=4, seconds=1)
    with server:
        server.set_app(make_wsgi_app(metrics.new_registry()))
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_half_a_request_has_its_time(port: int) -> None:
    with ExitStack() as stack:
        (one,) = halves(port, 1, stack)
        assert one.recv(1) == b""
        assert read(port) == 200


def test_a_flood_has_few_threads_and_is_over_soon(port: int) -> None:
    before = threading.active_count()
    with ExitStack() as stack:
        held = halves(port, 40, stack)
        assert threading.active_count() <= before + 4
        for one in held:
            ended(one)
        servers.wait_for(lambda: reads(port), "a page")


def ended(one: socket.socket) -> None:
    with suppress(ConnectionError):
        assert one.recv(1) == b""


def reads(port: int) -> bool:
    try:
        return read(port) == 200
    except OSError:
        return False


def test_what_a_process_shows_is_guarded_so() -> None:
    ready: list[Any] = []
    with metrics.serving(metrics.new_registry(), "127.0.0.1:0", lambda: bool(ready)) as port:
        assert read(port) == 200
        ready.append(True)
        assert read(port, "/healthz") == 200
        before = threading.active_count()
        with ExitStack() as stack:
            halves(port, 150, stack)
            assert threading.active_count() <= before + 64
