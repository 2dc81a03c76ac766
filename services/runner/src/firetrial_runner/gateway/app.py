"""The gateway as a run sees it: an HTTP server of its own, with the vendors' paths below /v1."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from firetrial_runner.gateway.anthropic_endpoints import CountTokens, Messages
from firetrial_runner.gateway.ask import token
from firetrial_runner.gateway.call import Calls, Shared
from firetrial_runner.gateway.endpoints import Endpoint
from firetrial_runner.gateway.faults import Kind, Refusal
from firetrial_runner.gateway.openai_endpoints import ChatCompletions, Embeddings, Responses
from firetrial_runner.gateway.reserving import Reserving
from firetrial_runner.gateway.session import Session
from firetrial_runner.gateway.upstream import Dialect, Upstream

VERSION = "/v1"
ENDPOINTS: tuple[Endpoint, ...] = (ChatCompletions(), Responses(), Embeddings(), Messages(), CountTokens())


def application(session: Session, reserving: Reserving, shared: Shared) -> Starlette:
    """What a run may ask, and nothing else."""
    upstreams = [line.upstream for line in shared.lines.values()]
    models = _Models(session, upstreams)
    routes = [
        Route(VERSION + endpoint.path, Calls(endpoint, session, reserving, shared), methods=["POST"])
        for endpoint in ENDPOINTS
    ]
    routes += [
        Route(f"{VERSION}/models", models.every, methods=["GET"]),
        Route(f"{VERSION}/models/{{model:path}}", models.one, methods=["GET"]),
    ]
    return Starlette(routes=routes, exception_handlers={404: _nowhere, 405: _nowhere, Refusal: _refused})


@dataclass(frozen=True, slots=True)
class _Models:
    """The lists of the settings; the upstreams are not asked. Names that end in "*" are no models."""

    session: Session
    upstreams: list[Upstream]

    async def every(self, request: Request) -> Response:
        self.session.admit(token(request.headers))
        dialect = _dialect(request)
        names = dict.fromkeys(
            name
            for u in self.upstreams
            if u.dialect is dialect
            for name in u.models
            if not name.endswith("*")
        )
        return JSONResponse(
            {"object": "list", "data": [_model(name, dialect) for name in names], "has_more": False}
        )

    async def one(self, request: Request) -> Response:
        self.session.admit(token(request.headers))
        dialect, name = _dialect(request), request.path_params["model"]
        if not any(u.dialect is dialect and u.entry(name) for u in self.upstreams):
            raise Refusal(Kind.MODEL, f"there is no model {name[:200]!r} here")
        return JSONResponse(_model(name, dialect))


def _model(name: str, dialect: Dialect) -> MutableMapping[str, Any]:
    if dialect is Dialect.OPENAI:
        return {"id": name, "object": "model", "created": 0, "owned_by": "firetrial"}
    return {"id": name, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


def _dialect(request: Request) -> Dialect:
    """By what only Anthropic's clients send."""
    its_own = "anthropic-version" in request.headers or "/messages" in request.url.path
    return Dialect.ANTHROPIC if its_own else Dialect.OPENAI


async def _nowhere(request: Request, _: Exception) -> Response:
    told = ", ".join(VERSION + endpoint.path for endpoint in ENDPOINTS)
    return await _refused(
        request,
        Refusal(Kind.PATH, f"there is no {request.method} {request.url.path[:200]}; there are {told}"),
    )


async def _refused(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)  # noqa: S101 -- registered for these alone
    dialect = _dialect(request)
    return Response(
        refusal.kind.body(dialect, refusal.message),
        refusal.kind.status(dialect),
        {"connection": "close"},
        media_type="application/json",
    )
