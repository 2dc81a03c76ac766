"""The commands of this distribution, as the entry point `firetrial.commands` finds them."""

from __future__ import annotations

import click

commands: list[click.Command] = []
