"""What the judge's commands share: how files are read, bad input is refused, and a model is named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from firetrial_kit.asking import Endpoint
from firetrial_kit.errors import Fault, FiretrialError, check, invalid

# Where a backend is asked by default, and what its key is called.
_MODELS = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
}
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
_MAX_BYTES = 64 * 1024 * 1024


class Refused(click.ClickException):
    """Bad input: exit code 2, as for bad usage."""

    exit_code = 2


@contextmanager
def refusals() -> Iterator[None]:
    """Tell what a person can mend on standard error, one fault a line."""
    try:
        yield
    except FiretrialError as error:
        told = "\n       ".join(str(fault) for fault in error.faults) or error.message
        raise (click.ClickException(told) if error.retryable else Refused(told)) from error


def backend_options(*others: str) -> Callable[[Any], Any]:
    """The options --backend, --model and --base-url. The default is the first of `others`, else openai."""
    backends = [*others, *_MODELS]

    def add(command: Any) -> Any:
        for option in (
            click.option("--base-url", default="", help="Its endpoint, where it is not the maker's."),
            click.option(
                "--model",
                default="",
                help="The model to ask; its key comes from OPENAI_API_KEY or ANTHROPIC_API_KEY.",
            ),
            click.option("--backend", type=click.Choice(backends), default=backends[0], show_default=True),
        ):
            command = option(command)
        return command

    return add


def asking_options(command: Any) -> Any:
    """The options --verdicts and --patience, of commands that ask for verdicts on claims."""
    for option in (
        click.option(
            "--patience",
            type=click.FloatRange(1, 86400),
            default=120.0,
            show_default=True,
            help="Seconds that one answer of a model may take.",
        ),
        click.option(
            "--verdicts",
            type=click.Choice(["listed", "one-word"]),
            default="listed",
            show_default=True,
            help="How a model is asked: for a list, or claim by claim for the chances of one word.",
        ),
    ):
        command = option(command)
    return command


def endpoint(backend: str, model: str, base_url: str, patience: float = 120.0) -> Endpoint:
    """What the options name. Raises INVALID without a model."""
    check("--model", [] if model else [Fault("--model", "", "must name the model to ask")])
    address, key = _MODELS[backend]
    return Endpoint(
        base_url or address,
        model,
        os.environ.get(key, ""),
        timeout=patience,
        patience=patience,
        dialect="anthropic" if backend == "anthropic" else "openai",
    )


def read_bytes(file: str) -> bytes:
    """A file or standard input (-). Raises INVALID where it cannot be read or is too large."""
    try:
        with click.open_file(file, "rb") as stream:
            data: bytes = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise invalid("the file", [Fault("FILE", file, f"must be readable: {error.strerror}")]) from error
    check(
        "the file",
        [Fault("FILE", file, f"must have at most {_MAX_BYTES} bytes")] if len(data) > _MAX_BYTES else [],
    )
    return data


def read_text(file: str) -> str:
    """The same as text; bytes that are no UTF-8 become replacement characters."""
    return str(read_bytes(file), "utf-8", "replace").removeprefix("\ufeff")


def read_json(file: str) -> Any:
    """The same as JSON. Raises INVALID for anything else."""
    written = read_text(file)
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:
        raise invalid("the file", [Fault("FILE", written[:40], f"must be JSON: {error}")]) from error
