"""What every command shares: which server, and whether to answer in JSON."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

import click

from firetrial_client import units
from firetrial_client.aio import AsyncFiretrial
from firetrial_client.sync import Firetrial

P = ParamSpec("P")


@dataclass(slots=True)
class App:
    """`endpoint` as given on the command line; `json` once a command was told --json."""

    endpoint: str | None = None
    json: bool = False

    def client(self) -> Firetrial:
        """A connection, to be used in a `with`."""
        return Firetrial(self.endpoint, traceparent=os.environ.get("TRACEPARENT", ""))

    def async_client(self) -> AsyncFiretrial:
        """A connection for a coroutine, to be used in an `async with`."""
        return AsyncFiretrial(self.endpoint, traceparent=os.environ.get("TRACEPARENT", ""))


def answering(command: Callable[Concatenate[App, P], None]) -> Callable[P, None]:
    """Give a command --json, and the App as its first argument."""

    @click.option(
        "--json", "as_json", is_flag=True, expose_value=False, callback=_remember, help="Answer in JSON."
    )
    @click.pass_context
    @functools.wraps(command)
    def run(ctx: click.Context, /, *args: P.args, **kwargs: P.kwargs) -> None:
        command(_app(ctx), *args, **kwargs)

    return run


def _remember(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    _app(ctx).json |= value


def _app(ctx: click.Context) -> App:
    told = ctx.ensure_object(dict)
    app: App = told.setdefault("app", App(told.get("endpoint")))
    return app


class _Quantity(click.ParamType[float]):
    """A number with a unit; bad ones are explained by the parser's own words."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


DURATION = _Quantity("duration", units.parse_duration)
SIZE = _Quantity("size", units.parse_size)
