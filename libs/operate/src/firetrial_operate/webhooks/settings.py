"""What the process is told by its environment, beside the file with the endpoints."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.settings import Address, BrokerSettings, SettingsError
from firetrial_operate.access import environment


class WebhookSettings(BrokerSettings):
    """FIRETRIAL_WEBHOOKS_<FIELD>, else FIRETRIAL_<FIELD>. It needs the broker and nothing else."""

    nats_url: str
    metrics_address: Address = "127.0.0.1:0"
    ports_file: Path | None = None
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")
    # Seconds after which what a killed process had in hand comes again.
    ack_wait: float = Field(default=30.0, ge=1, le=3600)
    # Seconds that sending may take to end after SIGTERM.
    drain: float = Field(default=20.0, ge=0, le=86400)


def settings(environ: Mapping[str, str] | None = None) -> WebhookSettings:
    """Those of this process, or the broker of `firetrial up`. Raises INVALID naming each bad variable."""
    environ = os.environ if environ is None else environ
    told = environ if _names_a_broker(environ) else environment(environ)
    try:
        return WebhookSettings.from_env(told, "webhooks")
    except SettingsError as error:
        faults = [Fault("environment", problem, "must be set right") for problem in error.problems]
        raise FiretrialError(Reason.INVALID, str(error), faults=faults) from error


def _names_a_broker(environ: Mapping[str, str]) -> bool:
    return any(environ.get(f"FIRETRIAL_{part}NATS_URL") for part in ("", "WEBHOOKS_"))
