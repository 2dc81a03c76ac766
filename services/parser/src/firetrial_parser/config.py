"""The parser's own settings, read from FIRETRIAL_PARSER_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from firetrial_kit.model_settings import ModelSettings
from firetrial_kit.settings import Address
from firetrial_parser.intake import MAX_BYTES

MAX_DATA = 1024**3


class ParserSettings(ModelSettings):
    service = "PARSER"

    # The largest paper and the largest data of a submitted task, in bytes.
    max_paper_bytes: int = Field(default=MAX_BYTES, ge=1, le=1024**3)
    max_data_bytes: int = Field(default=MAX_DATA, ge=1, le=64 * 1024**3)
    # Seconds of wall time for reading one paper.
    parse_timeout: float = Field(default=120.0, gt=0, le=3600)
    # Papers that are read at the same time.
    parses_at_once: int = Field(default=1, ge=1, le=64)
    # Tokens that the model takes in one request, its answer included: longer papers are asked about in parts.
    model_context: int = Field(default=32_000, ge=8_000, le=10_000_000)
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
        if self.judge_tls_ca and not (self.tls_cert and self.tls_key):
            raise ValueError("FIRETRIAL_PARSER_JUDGE_TLS_CA needs FIRETRIAL_TLS_CERT and FIRETRIAL_TLS_KEY")
        return self
