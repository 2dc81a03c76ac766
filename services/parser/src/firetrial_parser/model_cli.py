# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""The model that a command without a server asks: its options, and what it was paid for kept at hand."""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from firetrial_parser.asking import Asker

DEFAULT_URL = "https://api.openai.com/v1"
CACHE_VARIABLE = "FIRETRIAL_PARSER_CACHE_DIR"
_CACHE_BYTES = 256 * 1024 * 1024

Command = Callable[..., None]


def model_options(*, offline: str, does: str) -> Callable[[Command], Command]:
    """Give a command `model` ("" for none) and `base_url`.

    `offline` says what is done without a model, `does` what one is for.
    """

    def with_options(command: Command) -> Command:
        @click.option("--offline", is_flag=True, help=f"{offline}, without a model (the default).")
        @click.option("--model", default="", help=f"The model that {does}, at an OpenAI-compatible endpoint.")
        @click.option("--base-url", default="", help="The endpoint; its key is taken from OPENAI_API_KEY.")
        @functools.wraps(command)
        def run(*, offline: bool, model: str, base_url: str, **options: Any) -> None:
            if offline and (model or base_url):
                raise click.UsageError("--offline takes no --model and no --base-url")
            if base_url and not model:
                raise click.UsageError("--base-url needs --model")
            command(model=model, base_url=base_url, **options)

        return run

    return with_options


@asynccontextmanager
async def asker_of(model: str, base_url: str) -> AsyncIterator[Asker | None]:
    """What asks the model, its answers kept in the folder that `CACHE_VARIABLE` names; None for no model."""
    if not model:
        yield None
        return
    from firetrial_kit.asking import Endpoint
    from firetrial_kit.cache import LocalTier, NoCache
    from firetrial_parser.asking import opened

    folder = os.environ.get(CACHE_VARIABLE, "")
    cache = LocalTier(Path(folder), _CACHE_BYTES) if folder else NoCache()
    endpoint = Endpoint(base_url or DEFAULT_URL, model, os.environ.get("OPENAI_API_KEY", ""))
    async with opened(endpoint, cache=cache) as asker:
        yield asker
