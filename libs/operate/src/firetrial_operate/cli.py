"""The commands of this distribution, as the entry point `firetrial.commands` finds them."""

from __future__ import annotations

import click

from firetrial_operate.admin.cli import Deferred, admin
from firetrial_operate.webhooks.cli import webhooks

doctor = Deferred("doctor", "firetrial_operate.doctor.cli:doctor", "See what is broken, and what to do.")

commands: list[click.Command] = [admin, doctor, webhooks]
