from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from firetrial_kit import listing
from firetrial_kit.model_settings import ModelSettings


@contextmanager
def endpoint(status: int, body: object = None) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """One that answers so; what it was asked, by header."""
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append({"path": self.path, **{name.lower(): value for name, value in self.headers.items()}})
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "ok", "told"),
    [
        (200, {"data": [{"id": "a"}, {"id": "b"}]}, True, "2 models"),
        (200, "<html>", True, "no list that can be read"),
        (401, {}, False, "refuses the key (401)"),
        (403, {}, False, "refuses the key (403)"),
        (404, {}, None, "no list of models (404)"),
        (429, {}, False, "answers 429"),
        (503, {}, False, "answers 503"),
    ],
)
def test_what_an_endpoint_says_of_a_key(status: int, body: object, ok: bool | None, told: str) -> None:
    with endpoint(status, body) as (url, asked):
        name, found, detail, cure = listing.asked("judge model", url, "openai", "sk-of-ours", "THE_KEY")
    assert (name, found) == ("judge model", ok)
    assert told in detail
    assert bool(cure) == (ok is not True)
    assert "sk-of-ours" not in detail + cure
    assert [(one["path"], one["authorization"]) for one in asked] == [("/v1/models", "Bearer sk-of-ours")]


def test_anthropics_are_asked_in_their_own_words_and_no_key_is_no_header() -> None:
    with endpoint(200, {"data": []}) as (url, asked):
        listing.asked("m", url, "anthropic", "k", "V")
        listing.asked("m", url, "openai", "", "V")
    assert (asked[0]["x-api-key"], "authorization" in asked[0]) == ("k", False)
    assert "authorization" not in asked[1]


def test_an_endpoint_that_is_not_there_is_a_fault() -> None:
    _, ok, detail, cure = listing.asked("m", "http://127.0.0.1:9/v1", "openai", "", "V")
    assert (ok, bool(cure)) == (False, True)
    assert "no answer from http://127.0.0.1:9/v1" in detail


class Settings(ModelSettings):
    service = "TESTER"


def test_settings_that_are_wrong_are_all_told_and_none_is_no_fault() -> None:
    ((name, ok, detail, _),) = listing.checks(
        Settings, {"FIRETRIAL_TESTER_MODEL_AT_ONCE": "0", "FIRETRIAL_TESTER_MODEL_TIMEOUT": "soon"}
    )
    assert (name, ok) == ("tester settings", False)
    assert "FIRETRIAL_MODEL_AT_ONCE" in detail.replace("TESTER_", "")
    assert "MODEL_TIMEOUT" in detail
    ((name, ok, _, _),) = listing.checks(Settings, {})
    assert (name, ok) == ("tester model", True)
