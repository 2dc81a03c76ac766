"""The analyzer's own settings, read from FIRETRIAL_ANALYZER_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

from pydantic import Field

from firetrial_kit.settings import Settings


class AnalyzerSettings(Settings):
    # Messages of each kind that are handled at the same time.
    analyses_at_once: int = Field(default=4, ge=1, le=256)
