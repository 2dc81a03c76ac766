"""The parser's own settings, read from FIRETRIAL_PARSER_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, Json, SecretStr, model_validator

from firetrial_kit.asking import Endpoint, Price
from firetrial_kit.settings import Address, PriceSetting, Settings
from firetrial_parser.intake import MAX_BYTES

MAX_DATA = 1024**3


class ParserSettings(Settings):
    # The largest paper and the largest data of a submitted task, in bytes.
    max_paper_bytes: int = Field(default=MAX_BYTES, ge=1, le=1024**3)
    max_data_bytes: int = Field(default=MAX_DATA, ge=1, le=64 * 1024**3)
    # Seconds of wall time for reading one paper.
    parse_timeout: float = Field(default=120.0, gt=0, le=3600)
    # Papers that are read at the same time.
    parses_at_once: int = Field(default=1, ge=1, le=64)
    # A model endpoint, with its version: "https://host/v1". Unset: trees from structure, nothing asked.
    model_url: str = ""
    # How it is spoken to: openai (any compatible server) or anthropic.
    model_dialect: Literal["openai", "anthropic"] = "openai"
    model_name: str = ""
    model_key: SecretStr = SecretStr("")
    # Seconds for one request, and for all tries of one.
    model_timeout: float = Field(default=120.0, gt=0, le=3600)
    model_patience: float = Field(default=300.0, ge=0, le=86400)
    # Requests under way at most; fewer where the endpoint limits the rate.
    model_at_once: int = Field(default=8, ge=1, le=1024)
    # Tokens that the model takes in one request, its answer included: longer papers are asked about in parts.
    model_context: int = Field(default=32_000, ge=8_000, le=10_000_000)
    # {"model": {"prompt": 2.0, "completion": 8.0, "cached": 0.5}}, USD per million tokens. What is not here
    # has an unknown price.
    prices: Json[dict[str, PriceSetting]] = Field(default_factory=dict)
    # A folder in front of the store for answers that were paid for once, and what it may hold.
    cache_dir: Path | None = None
    cache_mib: int = Field(default=256, ge=1, le=1024 * 1024)

    # Where the judge's RPCs answer, "host:port": it rules on what a task gives away. Unset: words alone are
    # looked at, and tasks say so.
    judge_address: Address | None = None
    # By whose signature the judge is known, and this service's own certificate; needed beyond this machine.
    judge_tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.model_url and not self.model_url.startswith(("http://", "https://")):
            raise ValueError(
                f"FIRETRIAL_PARSER_MODEL_URL must be http://… or https://… (found {self.model_url!r})"
            )
        if bool(self.model_url) != bool(self.model_name):
            raise ValueError("FIRETRIAL_PARSER_MODEL_URL and …_MODEL_NAME go together")
        if self.judge_tls_ca and not (self.tls_cert and self.tls_key):
            raise ValueError("FIRETRIAL_PARSER_JUDGE_TLS_CA needs FIRETRIAL_TLS_CERT and FIRETRIAL_TLS_KEY")
        return self

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
        """What the model costs, None where that is unknown."""
        setting = self.prices.get(self.model_name)
        return setting.price() if setting else None
