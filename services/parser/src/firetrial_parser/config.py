"""The parser's own settings, read from FIRETRIAL_PARSER_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr, model_validator

from firetrial_kit.settings import Settings
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
    # An OpenAI-compatible endpoint, with its version: "https://host/v1". Unset: trees from structure.
    model_url: str = ""
    model_name: str = ""
    model_key: SecretStr = SecretStr("")

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.model_url and not self.model_url.startswith(("http://", "https://")):
            raise ValueError(
                f"FIRETRIAL_PARSER_MODEL_URL must be http://… or https://… (found {self.model_url!r})"
            )
        if bool(self.model_url) != bool(self.model_name):
            raise ValueError("FIRETRIAL_PARSER_MODEL_URL and …_MODEL_NAME go together")
        return self
