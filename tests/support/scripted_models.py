"""A scripted server of OpenAI's and Anthropic's calls: right, wrong, slow or broken, as the test says.

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
from io import BufferedIOBase
from itertools import cycle
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
    """What to send back. `cut_at` ends the connection after so many bytes of the body.

    `events` are sent one by one instead of a body, `pause` seconds apart; `cut_at` then counts events.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut_at: int | None = None
    events: Sequence[bytes] | None = None
    pause: float = 0.0

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


def stream(*events: Any, named: bool = False, pause: float = 0.0) -> Reply:
    """Server-sent events: JSON values, or text as it stands; `named` gives each its type as its name."""
    told = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        name = f"event: {event['type']}\n" if named else ""
        told.append(f"{name}data: {data}\n\n".encode())
    return Reply(200, headers={"content-type": "text/event-stream"}, events=told, pause=pause)


def call(name: str, arguments: Mapping[str, Any]) -> Reply:
    """A completion that calls a tool; tokens as `text` has them."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    tool_calls = [{"id": f"call_{name}", "type": "function", "function": function}]
    return text(None, finish="tool_calls", tool_calls=tool_calls)


def _words(content: str) -> list[str]:
    """The pieces in which a text is streamed."""
    return re.split(r"(?<= )", content)


def text_stream(content: str, *, usage: bool = True, pause: float = 0.0) -> Reply:
    """A streamed completion, word by word; with `usage`, that of `text`, in a last chunk of its own."""
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": word} for word in _words(content))]
    chunks: list[Any] = [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if usage:
        chunks.append({**base, "choices": [], "usage": json.loads(text("").body)["usage"]})
    return stream(*chunks, "[DONE]", pause=pause)


def call_stream(name: str, arguments: Mapping[str, Any]) -> Reply:
    """A streamed completion that calls a tool; tokens as `text` has them."""
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    function = {"name": name, "arguments": json.dumps(arguments)}
    delta = {"tool_calls": [{"index": 0, "id": f"call_{name}", "type": "function", "function": function}]}
    return stream(
        {**base, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {**base, "choices": [], "usage": json.loads(text("").body)["usage"]},
        "[DONE]",
    )


_RESPONSES_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 20},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 4},
    "total_tokens": 110,
}


def _response(content: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": content, "annotations": []}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "scripted",
        "output": [message],
        "usage": _RESPONSES_USAGE,
    }


def response(content: str) -> Reply:
    """An answer of the Responses API; tokens as `text` has them."""
    return raw(json.dumps(_response(content)).encode())


def response_stream(content: str, *, pause: float = 0.0) -> Reply:
    """A streamed answer of the Responses API."""
    whole = _response(content)
    item = whole["output"][0]
    created = {**whole, "status": "in_progress", "output": [], "usage": None}
    deltas = [
        {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": word}
        for word in _words(content)
    ]
    return stream(
        {"type": "response.created", "response": created},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        *deltas,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
        named=True,
        pause=pause,
    )


def response_call_stream(name: str, arguments: Mapping[str, Any]) -> Reply:
    """A streamed answer of the Responses API that calls a tool; tokens as `response` has them."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "status": "completed"}
    item["arguments"] = json.dumps(arguments)
    whole = {**_response(""), "output": [item]}
    return stream(
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
        named=True,
    )


def embeddings(count: int, dimensions: int = 4) -> Reply:
    """Vectors; 10 tokens."""
    data = [
        {"object": "embedding", "index": index, "embedding": [0.25] * dimensions} for index in range(count)
    ]
    usage = {"prompt_tokens": 10, "total_tokens": 10}
    told = {"object": "list", "data": data, "model": "scripted", "usage": usage}
    return raw(json.dumps(told).encode())


_MESSAGES_USAGE = {
    "input_tokens": 70,
    "cache_read_input_tokens": 20,
    "cache_creation_input_tokens": 10,
    "output_tokens": 10,
}


def _message(content: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [{"type": "text", "text": content}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": _MESSAGES_USAGE,
    }


def message(content: str) -> Reply:
    """An answer of the Messages API: 100 prompt tokens (20 cached, 10 written), 10 completion tokens."""
    return raw(json.dumps(_message(content)).encode())


def message_stream(content: str, *, pause: float = 0.0) -> Reply:
    """A streamed answer of the Messages API."""
    begun = {
        **_message(""),
        "content": [],
        "stop_reason": None,
        "usage": {**_MESSAGES_USAGE, "output_tokens": 1},
    }
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
        for word in _words(content)
    ]
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}}
    return stream(
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {**ended, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
        named=True,
        pause=pause,
    )


def message_call_stream(name: str, given: Mapping[str, Any]) -> Reply:
    """A streamed answer of the Messages API that calls a tool; tokens as `message` has them."""
    begun = {**_message(""), "content": [], "stop_reason": None}
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    ended = {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}}
    return stream(
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {**ended, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
        named=True,
    )


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
            size = int(self.headers["content-length"])
            data = self.rfile.read(size)
            if len(data) < size:  # who asked was killed in the middle of it
                self.close_connection = True
                return
            body = json.loads(data)
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
            chunked = reply.events is not None
            size = ("transfer-encoding", "chunked") if chunked else ("content-length", str(len(reply.body)))
            self.send_header(*size)
            self.end_headers()
            _write(self.wfile, reply)
            self.close_connection |= reply.cut_at is not None

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _write(to: BufferedIOBase, reply: Reply) -> None:
    """The body, or the events in chunks."""
    if reply.events is None:
        to.write(reply.body[: reply.cut_at])
        to.flush()
        return
    for event in reply.events[: reply.cut_at]:
        to.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        to.flush()
        time.sleep(reply.pause)
    if reply.cut_at is None:
        to.write(b"0\r\n\r\n")
        to.flush()


def claim_ids(prompt: str) -> list[str]:
    """The ids of the claims that a verdict prompt lists, for scripts that answer each of them."""
    return re.findall(r'"id": "([^"]+)",\s*"claim"', prompt)


def judging(prompt: str, said: str, *verdicts: str, kind: str = "comparative") -> dict[str, Any]:
    """What a judge's model says: what matches `said` are the claims; claims have `verdicts` by turns."""
    if ids := claim_ids(prompt):
        given = zip(ids, cycle(verdicts), strict=False)
        return {"verdicts": [{"id": i, "verdict": v, "rationale": "so", "evidence": ""} for i, v in given]}
    found = dict.fromkeys(re.findall(said, prompt))
    return {"claims": [{"quote": text, "text": text, "kind": kind, "repeats": 0} for text in found]}
