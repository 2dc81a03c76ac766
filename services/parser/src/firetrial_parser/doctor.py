"""What the parser needs beyond the broker and the store, for `firetrial doctor`."""

from __future__ import annotations

import os

from firetrial_kit import listing
from firetrial_parser.config import ParserSettings


def checks() -> list[listing.Found]:
    """Its settings, and the model that it asks."""
    return listing.checks(ParserSettings, os.environ)
