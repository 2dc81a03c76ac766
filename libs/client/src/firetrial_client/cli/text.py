"""Words for a terminal: what strangers wrote, made safe, and what went wrong."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

import click

# Control characters, lone surrogates, and what reorders the line it stands in.
_HIDDEN = frozenset(("Cc", "Cs", "Zl", "Zp"))
_REORDERING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def safe(text: str, *, keep: str = "") -> str:
    """`text` with characters that a terminal would act on spelled out (`\\x1b`), except those in `keep`."""
    return "".join(
        char.encode("unicode_escape").decode()
        if (unicodedata.category(char) in _HIDDEN or char in _REORDERING) and char not in keep
        else char
        for char in text
    )


def show_error(error: Mapping[str, Any], *, as_json: bool) -> None:
    """`{"reason", "message", "faults"}`: on standard output as JSON, else in words on standard error."""
    if as_json:
        click.echo(json.dumps({"error": error}))
        return
    faults = error["faults"]
    if len(faults) < 2:
        click.echo(f"Error: {safe(error['message'])}", err=True)
        return
    click.echo(f"Error: {safe(error['message'].partition(':')[0])}:", err=True)
    for fault in faults:
        field, told = fault["field"], fault["description"]
        click.echo("  " + safe(told if told.startswith(field) else f"{field} {told}"), err=True)
