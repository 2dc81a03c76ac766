"""What the analyzer's commands share."""

from __future__ import annotations

import click

from firetrial_kit.errors import FiretrialError


class Refused(click.ClickException):
    """Bad input: exit code 2, as for bad usage."""

    exit_code = 2

    def __init__(self, error: FiretrialError) -> None:
        super().__init__("\n       ".join(str(fault) for fault in error.faults) or error.message)
