"""The analyzer's own settings, read from FIRETRIAL_ANALYZER_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from firetrial_analyzer.cutoffs import Cutoff, read, shipped
from firetrial_kit.errors import Fault, invalid
from firetrial_kit.model_settings import ModelSettings


class AnalyzerSettings(ModelSettings):
    service = "ANALYZER"

    # Messages of each kind that are handled at the same time.
    analyses_at_once: int = Field(default=4, ge=1, le=256)
    # Runs whose claims and attributions a report shows; the rows of all are in its tables.
    shown_runs: int = Field(default=1000, ge=1, le=10_000)
    # A file with models' knowledge cutoffs, as `firetrial cutoffs` prints those that ship. Unset: those.
    cutoffs: Path | None = None
    # Requests under way at most, to the model that attributes; without one, signals and rules alone.
    model_at_once: int = Field(default=16, ge=1, le=1024)
    # How a trajectory is read: characters of one part, and parts of one run.
    model_part_characters: int = Field(default=24_000, ge=4_000, le=1_000_000)
    model_parts: int = Field(default=40, ge=2, le=1000)
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
