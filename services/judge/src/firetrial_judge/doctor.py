"""What the judge needs beyond the broker and the store, for `firetrial doctor`."""

from __future__ import annotations

import os

from firetrial_judge.config import JudgeSettings
from firetrial_kit import listing


def checks() -> list[listing.Found]:
    """Its settings, and the model that it asks."""
    return listing.checks(JudgeSettings, os.environ)
