"""Which runners of a pool Prometheus is to scrape, in a file that it reads (`file_sd_configs`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from firetrial_kit import whole
from firetrial_kit.attendance import Attendant
from firetrial_kit.errors import FiretrialError, Reason


def targets(known: Iterable[Attendant], pool: str, now: datetime) -> str:
    """The file's text: the pages of metrics of the pool's runners that are there, sorted."""
    pages = sorted({one.page for one in known if one.pool == pool and one.page and one.there(now)})
    return json.dumps([{"targets": pages}]) + "\n"


def write(file: Path, text: str) -> None:
    """Put it there in one piece, where it differs. Raises UNAVAILABLE where that cannot be done."""
    try:
        if not file.exists() or file.read_text() != text:
            whole.put(file, text)
    except OSError as error:
        raise FiretrialError(Reason.UNAVAILABLE, f"{file} cannot be written: {error.strerror}") from error
