"""The commands of this distribution, as the entry point `firetrial.commands` finds them."""

from __future__ import annotations

import click

from firetrial_operate.admin.cli import admin
from firetrial_operate.webhooks.cli import webhooks

commands: list[click.Command] = [admin, webhooks]
