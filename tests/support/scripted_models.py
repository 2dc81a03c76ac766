"""A scripted OpenAI-compatible server: right, wrong, slow, limiting or broken, as the test says.

    with ScriptedModels([status(429, retry_after=0.1), answer({"x": 1})]) as models:
        ... models.base_url ... models.requests

A script is a list of replies, one for each request (the last one goes on), or a function of the request.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """One request as it came: path, headers in lower case, and the JSON body."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """All messages in one text."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])

    @property
    def format(self) -> str:
        """ "json_schema", "json_object" or "text"."""
        return str(self.body.get("response_format", {}).get("type", "text"))


@dataclass(frozen=True)
class Reply:
    """What to send back. `cut_at` ends the connection after so many bytes of the body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut_at: int | None = None

    def after(self, seconds: float) -> Reply:
        """The same, late."""
        return replace(self, delay=seconds)

    def cut(self, at: int) -> Reply:
        """The same, with the connection closed after `at` bytes."""
        return replace(self, cut_at=at)


Script = Sequence[Reply] | Callable[[Request], Reply]


def text(content: str | None, *, finish: str = "stop", refusal: str | None = None, **message: Any) -> Reply:
    """A completion whose message holds `content`; 100 prompt tokens (20 cached), 10 completion tokens."""
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, "refusal": refusal, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 20},
        },
    }
    return raw(json.dumps(completion).encode())


def answer(value: Any) -> Reply:
    """A completion whose message holds `value` as JSON."""
    return text(json.dumps(value))


def raw(body: bytes, *, status: int = 200, content_type: str = "application/json") -> Reply:
    """Any body."""
    return Reply(status, body, {"content-type": content_type})


def status(code: int, message: str = "scripted", *, retry_after: float | str | None = None) -> Reply:
    """An error as the API words it."""
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    return Reply(code, json.dumps({"error": {"message": message, "type": "scripted"}}).encode(), headers)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.broken: list[BaseException] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what some tests are about; a script that raises is a fault of its test."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError):
            self.broken.append(error)


class ScriptedModels:
    """The server, on a free port of the loopback; records `requests` in the order they came."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        """For an OpenAI client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        if self._server.broken:
            raise self._server.broken[0]

    def reply_to(self, request: Request) -> Reply:
        """Record a request and say what it gets."""
        with self._lock:
            self.requests.append(request)
            if callable(self._script):
                return self._script(request)
            return self._script[min(len(self.requests), len(self._script)) - 1]


def _handler(models: ScriptedModels) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one packet: in two, the kernel waits 40 ms between them
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = models.reply_to(Request(self.path, headers, body))
            time.sleep(reply.delay)
            try:
                self._send(reply)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client gave up, as some tests want

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: reply.cut_at])
            self.wfile.flush()
            if reply.cut_at is not None:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def claim_ids(prompt: str) -> list[str]:
    """The ids of the claims that a verdict prompt lists, for scripts that answer each of them."""
    return re.findall(r'"id": "([^"]+)",\s*"claim"', prompt)
