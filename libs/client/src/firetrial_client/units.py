"""Durations and sizes as people write them: 90s, 1h30m, 512M, 2GiB."""

from __future__ import annotations

import math
import re

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhd])")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
# What a protobuf Duration can hold is far more; a run of over a year is a slip of the pen.
_LONGEST = 366 * 86400.0
_LARGEST = 2**60


def parse_duration(text: str) -> float:
    """Seconds, over 0 and at most a year: `90` and `90s`, `10m`, `1h30m`, `250ms`. Raises ValueError."""
    written = text.strip().lower()
    if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", written):
        written += "s"
    if not _DURATION.fullmatch(written):
        raise ValueError(f"{text!r} is no duration: write it like 90s, 10m or 1h30m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(written))
    if not 0 < seconds <= _LONGEST:
        raise ValueError(f"{text!r} is out of range: more than 0 and at most 366d")
    return seconds


def format_duration(seconds: float) -> str:
    """For people, to the second: `0s`, `42s`, `10m`, `1h30m5s`; under ten seconds to the tenth: `2.5s`."""
    if seconds < 9.95 and not math.isclose(seconds, round(seconds), abs_tol=0.05):
        return f"{seconds:.1f}s"
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    shown = "".join(f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (left, "s")) if n)
    return shown or "0s"


def parse_size(text: str) -> int:
    """Bytes, at least 1: `4096`, `512K`, `2G`, `1.5GiB`; K, M, G, T are powers of 1024. Raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is no size: write it like 512M or 2G")
    size = float(match[1]) * float(1024 ** _POWER[match[2].upper()])
    if not 0.5 < size <= _LARGEST:
        raise ValueError(f"{text!r} is out of range: at least 1 byte and at most 2^60")
    return round(size)


def format_size(size: int) -> str:
    """For people, with one digit after the point: `512 B`, `1.5 GiB`."""
    if size < 1024:
        return f"{size} B"
    power = min(int(math.log2(size) // 10), 4)
    return f"{size / 1024**power:.1f} {'KMGT'[power - 1]}iB"
