"""The analyzer's own settings, read from FIRETRIAL_ANALYZER_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, Json, SecretStr, model_validator

from firetrial_analyzer.cutoffs import Cutoff, read, shipped
from firetrial_kit.asking import Endpoint, Price
from firetrial_kit.errors import Fault, invalid
from firetrial_kit.settings import PriceSetting, Settings


class AnalyzerSettings(Settings):
    # Messages of each kind that are handled at the same time.
    analyses_at_once: int = Field(default=4, ge=1, le=256)
    # Runs whose claims and attributions a report shows; the rows of all are in its tables.
    shown_runs: int = Field(default=1000, ge=1, le=10_000)
    # A file with models' knowledge cutoffs, as `firetrial cutoffs` prints those that ship. Unset: those.
    cutoffs: Path | None = None
    # A model endpoint, up to and with its version: "https://host/v1". Unset: signals and rules alone.
    model_url: str = ""
    # How it is spoken to: openai (any compatible server) or anthropic.
    model_dialect: Literal["openai", "anthropic"] = "openai"
    # The model that attributes.
    model_name: str = ""
    model_key: SecretStr = SecretStr("")
    # Seconds for one request, and for all tries of one.
    model_timeout: float = Field(default=120.0, gt=0, le=3600)
    model_patience: float = Field(default=300.0, ge=0, le=86400)
    # Requests under way at most; fewer where the endpoint limits the rate.
    model_at_once: int = Field(default=16, ge=1, le=1024)
    # How a trajectory is read: characters of one part, and parts of one run.
    model_part_characters: int = Field(default=24_000, ge=4_000, le=1_000_000)
    model_parts: int = Field(default=40, ge=2, le=1000)
    # {"model": {"prompt": 2.0, "completion": 8.0, "cached": 0.5}}, USD per million tokens. What is not here
    # has an unknown price.
    prices: Json[dict[str, PriceSetting]] = Field(default_factory=dict)
    # USD that the attribution of one experiment may cost. Unset: no cap.
    attribution_max_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    # A code embedding model in an ONNX file, and its tokenizer.json. Unset: hashed tokens, without a model.
    embedder_model: Path | None = None
    embedder_tokenizer: Path | None = None

    @model_validator(mode="after")
    def _embeds(self) -> Self:
        if (self.embedder_model is None) != (self.embedder_tokenizer is None):
            raise ValueError(
                "FIRETRIAL_ANALYZER_EMBEDDER_MODEL and FIRETRIAL_ANALYZER_EMBEDDER_TOKENIZER go together: "
                "set both"
            )
        return self

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.model_url and not self.model_url.startswith(("http://", "https://")):
            raise ValueError(
                f"FIRETRIAL_ANALYZER_MODEL_URL must be http://… or https://… (found {self.model_url!r})"
            )
        if bool(self.model_url) != bool(self.model_name):
            raise ValueError(
                "FIRETRIAL_ANALYZER_MODEL_URL and FIRETRIAL_ANALYZER_MODEL_NAME go together: set both"
            )
        if self.model_url and self.attribution_max_usd is not None and self.price() is None:
            raise ValueError(
                f"FIRETRIAL_ANALYZER_ATTRIBUTION_MAX_USD needs the price of {self.model_name!r} in "
                "FIRETRIAL_ANALYZER_PRICES: a cap cannot be kept blindly"
            )
        return self

    def cutoff_table(self) -> dict[str, Cutoff]:
        """Model → cutoff. Raises INVALID for a table with faults, or one that cannot be read."""
        if self.cutoffs is None:
            return shipped()
        try:
            return read(self.cutoffs.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            cure = f"must name a file that can be read: {error}"
            raise invalid(
                "the settings", [Fault("FIRETRIAL_ANALYZER_CUTOFFS", str(self.cutoffs), cure)]
            ) from error

    def endpoint(self) -> Endpoint:
        """Where the model is asked. Only where `model_url` is set."""
        return Endpoint(
            self.model_url,
            self.model_name,
            self.model_key.get_secret_value(),
            timeout=self.model_timeout,
            patience=self.model_patience,
            dialect=self.model_dialect,
            at_once=self.model_at_once,
        )

    def price(self) -> Price | None:
        """What the model costs; None where that is unknown."""
        found = self.prices.get(self.model_name)
        return found.price() if found else None
