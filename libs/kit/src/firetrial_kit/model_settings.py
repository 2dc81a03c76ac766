"""The settings of a service that asks a model."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, Json, SecretStr, model_validator

from firetrial_kit.asking import Endpoint, Price
from firetrial_kit.settings import PriceSetting, Settings


class ModelSettings(Settings):
    """`service` is the middle of the variables' names, as in FIRETRIAL_JUDGE_MODEL_URL."""

    service: ClassVar[str]

    # A model endpoint, up to and with its version: "https://host/v1". Unset: no model is asked.
    model_url: str = ""
    # How it is spoken to: openai (any compatible server) or anthropic.
    model_dialect: Literal["openai", "anthropic"] = "openai"
    # The model that is asked, where nothing else names one.
    model_name: str = ""
    model_key: SecretStr = SecretStr("")
    # Seconds for one request, and for all tries of one.
    model_timeout: float = Field(default=120.0, gt=0, le=3600)
    model_patience: float = Field(default=300.0, ge=0, le=86400)
    # Requests to one model under way at most; fewer where its endpoint limits the rate.
    model_at_once: int = Field(default=8, ge=1, le=1024)
    # {"model": {"prompt": 2.0, "completion": 8.0, "cached": 0.5}}, USD per million tokens. What is not here
    # has an unknown price.
    prices: Json[dict[str, PriceSetting]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _address_and_name(self) -> Self:
        url, name = f"FIRETRIAL_{self.service}_MODEL_URL", f"FIRETRIAL_{self.service}_MODEL_NAME"
        if self.model_url and not self.model_url.startswith(("http://", "https://")):
            raise ValueError(f"{url} must be http://… or https://… (found {self.model_url!r})")
        if bool(self.model_url) != bool(self.model_name):
            raise ValueError(f"{url} and {name} go together: set both")
        return self

    def endpoint(self, model: str = "") -> Endpoint:
        """Where `model`, or the model of the settings, is asked. Only where `model_url` is set."""
        return Endpoint(
            self.model_url,
            model or self.model_name,
            self.model_key.get_secret_value(),
            timeout=self.model_timeout,
            patience=self.model_patience,
            dialect=self.model_dialect,
            at_once=self.model_at_once,
        )

    def price_table(self) -> dict[str, Price]:
        """What each model costs."""
        return {name: setting.price() for name, setting in self.prices.items()}

    def price(self) -> Price | None:
        """What the model of the settings costs; None where that is unknown."""
        return self.price_table().get(self.model_name)
