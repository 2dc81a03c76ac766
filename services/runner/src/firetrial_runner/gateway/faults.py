"""What the gateway answers to calls that it does not pass on, in the shape that the vendor's clients know."""

from __future__ import annotations

import json
from enum import Enum

from firetrial_runner.gateway.upstream import Dialect

RUN, EXPERIMENT, TENANT = "run", "experiment", "tenant"
"""Whose a budget is."""


class Kind(Enum):
    """(status, OpenAI's type, OpenAI's code), (status, Anthropic's type)."""

    TOKEN = (401, "invalid_request_error", "invalid_api_key"), (401, "authentication_error")
    REQUEST = (400, "invalid_request_error", None), (400, "invalid_request_error")
    SIZE = (413, "invalid_request_error", "request_too_large"), (413, "request_too_large")
    PATH = (404, "invalid_request_error", "unknown_url"), (404, "not_found_error")
    MODEL = (404, "invalid_request_error", "model_not_found"), (404, "not_found_error")
    POLICY = (403, "invalid_request_error", "not_allowed"), (403, "permission_error")
    PRICE = (403, "invalid_request_error", "price_unknown"), (403, "permission_error")
    BUDGET = (429, "insufficient_quota", "insufficient_quota"), (402, "billing_error")
    UPSTREAM = (503, "server_error", "upstream_unavailable"), (529, "overloaded_error")

    def status(self, dialect: Dialect) -> int:
        openai, anthropic = self.value
        return int(openai[0] if dialect is Dialect.OPENAI else anthropic[0])

    def body(self, dialect: Dialect, message: str) -> bytes:
        (_, type_, code), (_, name) = self.value
        if dialect is Dialect.OPENAI:
            error = {"message": message, "type": type_, "param": None, "code": code}
            return json.dumps({"error": error}).encode()
        return json.dumps({"type": "error", "error": {"type": name, "message": message}}).encode()


class Refusal(Exception):  # noqa: N818 -- an answer, not an error
    """A call that is not passed on, and why. `budget` is whose has no room for it, where that is why."""

    def __init__(self, kind: Kind, message: str, budget: str = RUN) -> None:
        super().__init__(message)
        self.kind, self.message, self.budget = kind, message, budget
