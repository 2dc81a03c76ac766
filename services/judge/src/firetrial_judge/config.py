"""The judge's own settings, read from FIRETRIAL_JUDGE_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr, model_validator

from firetrial_kit.models import Endpoint
from firetrial_kit.settings import Settings


class JudgeSettings(Settings):
    # An OpenAI-compatible endpoint, up to and with its version: "https://host/v1". Unset: offline only.
    model_url: str = ""
    # The model asked where a plan names none.
    model_name: str = ""
    model_key: SecretStr = SecretStr("")
    # Seconds for one request, and for all tries of one.
    model_timeout: float = Field(default=120.0, gt=0, le=3600)
    model_patience: float = Field(default=300.0, ge=0, le=86400)
    # Runs that are judged at the same time.
    judgements_at_once: int = Field(default=2, ge=1, le=256)

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.model_url and not self.model_url.startswith(("http://", "https://")):
            raise ValueError(
                f"FIRETRIAL_JUDGE_MODEL_URL must be http://… or https://… (found {self.model_url!r})"
            )
        if bool(self.model_url) != bool(self.model_name):
            raise ValueError("FIRETRIAL_JUDGE_MODEL_URL and FIRETRIAL_JUDGE_MODEL_NAME go together: set both")
        return self

    def endpoint(self, model: str) -> Endpoint:
        """Where `model`, or the model of the settings, is asked. Only where `model_url` is set."""
        return Endpoint(
            self.model_url,
            model or self.model_name,
            self.model_key.get_secret_value(),
            timeout=self.model_timeout,
            patience=self.model_patience,
        )
