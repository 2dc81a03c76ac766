"""What the analyzer needs beyond the broker and the store, for `firetrial doctor`."""

from __future__ import annotations

import os

from firetrial_analyzer.config import AnalyzerSettings
from firetrial_kit import listing


def checks() -> list[listing.Found]:
    """Its settings, and the model that it asks."""
    return listing.checks(AnalyzerSettings, os.environ)
