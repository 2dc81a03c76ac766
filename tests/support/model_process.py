"""A scripted judge model as a process of its own, so that a bench does not share its interpreter.

    python -m support.model_process LATENCY LIMIT

Prints its base URL; answers claim and verdict requests of the judge, and the extractor and checker requests
of RAGChecker, each after LATENCY seconds. More than LIMIT at once get 429. GET /v1/told gives
{"answered", "refused", "most"}.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.scripted_models import Reply, Request, answer, judging, raw, status, text


class Told:
    """How many requests were answered, refused, and under way at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.under_way = self.answered = self.refused = self.most = 0


def value(prompt: str) -> dict[str, Any]:
    """Claims are sentences; every other claim is entailed."""
    return judging(prompt, r"(?m)^(Finding \d+ of .*)$", "ENTAILED", "NEUTRAL", kind="directional")


def ragchecker(prompt: str) -> str:
    """What RAGChecker's prompts are answered with, on the same rule; "" for any other prompt."""
    if prompt.rstrip().endswith("### KG:"):
        said = re.findall(r"^(Finding \d+ of .*) falls with k$", prompt, re.MULTILINE)
        return "\n".join(f'("{subject}", "falls with", "k")' for subject in said)
    listed = prompt.rpartition("### Claims:")[2] if "### Claims:" in prompt else ""
    numbers = re.findall(r'^\("Finding (\d+) of', listed, re.MULTILINE)
    return "\n".join("Entailment" if int(n) % 2 else "Neutral" for n in numbers)


def serve(latency: float, limit: int) -> None:
    """Until the process is ended."""
    told = Told()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            counts = {"answered": told.answered, "refused": told.refused, "most": told.most}
            self._send(raw(json.dumps(counts).encode()))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with told.lock:
                told.under_way += 1
                told.most = max(told.most, told.under_way)
                crowded = told.under_way > limit
            if not crowded:
                time.sleep(latency)
            with told.lock:
                told.under_way -= 1
                told.answered += not crowded
                told.refused += crowded
            prompt = Request(self.path, {}, body).prompt
            if crowded:
                self._send(status(429))
            else:
                said = ragchecker(prompt)
                self._send(text(said) if said else answer(value(prompt)))

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for header in reply.headers.items():
                self.send_header(*header)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}/v1\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    serve(float(sys.argv[1]), int(sys.argv[2]))
