"""Where an agent hands in its steps: a path on the port of its gateway, for its token alone."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from firetrial_kit.errors import FiretrialError
from firetrial_runner.flood import Flow, Room, Turnstile
from firetrial_runner.gateway.ask import InHand, load, token
from firetrial_runner.gateway.faults import Kind, Refusal
from firetrial_runner.gateway.gateway import Door
from firetrial_runner.gateway.server import server
from firetrial_runner.kinds.repository import HandIn, Refused, read
from firetrial_runner.kinds.steps import Answer

PATH = "/firetrial/v1/step"
FLOW = Flow(at_once=64, per_s=50.0, burst=200)
"""Of a run that has no gateway."""
_ROOM = 128 * 1024 * 1024
_WAITING = 4
"""Steps that may wait for the one under way."""

Take = Callable[[HandIn], Awaitable[Answer]]
App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]


class StepDoor:
    """What a sandbox is given as its gateway: the models' door, where the run has one, and the steps'.

    `take` makes a step of what is handed in.
    """

    def __init__(self, take: Take, models: Door | None) -> None:
        self._take, self._models = take, models
        self._token = models.session.token if models else secrets.token_urlsafe(32)
        self._turnstile = models.session.turnstile if models else Turnstile(FLOW, lambda _: None)
        self._room = Room(_ROOM)
        self._calls: set[asyncio.Task[object]] = set()
        self._servers: list[tuple[uvicorn.Server, asyncio.Task[None]]] = []
        self._own = Starlette(routes=[Route(PATH, self._step, methods=["POST"])])

    def environment(self, url: str) -> Mapping[str, str]:
        """What the agent is told; `url` is where it reaches what `serve` serves."""
        told = {"FIRETRIAL_STEP_URL": url + PATH, "FIRETRIAL_STEP_TOKEN": self._token}
        return {**(self._models.environment(url) if self._models else {}), **told}

    def serve(self, listener: socket.socket) -> None:
        """Answer on a listening socket, which is taken over."""
        answering = server(self, self._turnstile)
        listener.setblocking(False)
        self._servers.append((answering, asyncio.create_task(answering.serve([listener]))))

    async def aclose(self) -> None:
        """The run is over: a step under way is broken off. The models' door is closed by who opened it."""
        self._token = ""
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls)
        for answering, _ in self._servers:
            answering.should_exit = True
        await asyncio.gather(*(task for _, task in self._servers))
        self._servers.clear()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answer a request, as ASGI has it."""
        mine = scope["type"] != "http" or scope["path"].startswith("/firetrial/") or self._models is None
        app: App = self._own if mine or self._models is None else self._models.app
        await app(scope, receive, send)

    async def _step(self, request: Request) -> Response:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine runs in one
        in_hand = InHand(self._room)
        try:
            self._admit(token(request.headers))
            self._calls.add(task)
            body = await in_hand.read(request.receive)
            handed = await asyncio.to_thread(lambda: read(load(body)))
            return JSONResponse((await self._take(handed)).told())
        except Refusal as refusal:
            return _refused(Refused(413 if refusal.kind is Kind.SIZE else 400, refusal.message))
        except Refused as refused:
            return _refused(refused)
        except ConnectionError:
            return _refused(Refused(400, "the request ended before its end"))
        except FiretrialError as error:
            told = f"the step could not be kept, by no fault of the agent: {error.message}"
            return _refused(Refused(503, told))
        finally:
            self._calls.discard(task)
            await in_hand.become(0)

    def _admit(self, given: str) -> None:
        if not self._token or not hmac.compare_digest(given.encode(), self._token.encode()):
            raise Refused(401, "the token must be the run's own, which lives as long as the run")
        if len(self._calls) > _WAITING:
            raise Refused(429, f"{_WAITING} steps wait already: steps are made one at a time")


def _refused(refused: Refused) -> Response:
    told = {"state": "refused", "error": refused.message}
    return JSONResponse(told, refused.status, {"connection": "close"})
