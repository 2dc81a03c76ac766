"""Lines of a log as a terminal would show them: colours and carriage returns are not part of the text."""

from __future__ import annotations

import re

# CSI and OSC sequences, and the two-character escapes (ECMA-48).
_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def plain(text: str) -> str:
    """`text` without terminal codes and without the carriage return that ends it."""
    return (_CODES.sub("", text) if "\x1b" in text else text).removesuffix("\r")
