"""Identifiers that are a function of what they name, so that doing a thing twice names it once."""

from __future__ import annotations

import hashlib
import json


def digest(*parts: object, length: int = 64) -> str:
    """Lower-case hex sha256 over `parts`, cut to `length` characters.

    Parts are JSON values; the encoding keeps them apart, so ("ab", "c") and ("a", "bc") differ.
    """
    encoded = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(encoded.encode()).hexdigest()[:length]


def sha256(data: bytes) -> str:
    """Lower-case hex sha256 of `data`."""
    return hashlib.sha256(data).hexdigest()
