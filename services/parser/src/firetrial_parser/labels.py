"""Findings without the figures and tables that they cite: they are judged without the paper at hand."""

from __future__ import annotations

import re
from collections.abc import Iterable

_REF = r"(?:Fig(?:ure|\.)?|Tab(?:le|\.)?)s?\.?"
_LABEL = re.compile(rf"\s*\((?:see\s+)?(?:also\s+)?{_REF}\s*[^()]{{0,40}}\)", re.IGNORECASE)
_LEAD = re.compile(
    rf"^(?:(?:as\s+)?(?:\w+\s+)?in\s+)?{_REF}\s*\w+(?:\s*\([^()]*\))?,?\s*"
    r"(?:(?:we\s+)?(?:shows?|see|finds?|observe|reveals?|demonstrates?|indicates?|suggests?)\s+that\s+)?",
    re.IGNORECASE,
)


def without_labels(texts: Iterable[str]) -> list[str]:
    """Findings without "(Table 1)" and "As Figure 2 shows, …"."""
    return [_without_label(text) for text in texts]


def _without_label(text: str) -> str:
    text = re.sub(r"\s+([.,;])", r"\1", _LABEL.sub("", text)).strip()
    lead = _LEAD.match(text)
    # Without "that" or a comma the label is the sentence's subject, which must stay.
    if lead is None or not lead[0].rstrip().endswith((",", "that")):
        return text
    rest = text[lead.end() :]
    return rest[:1].upper() + rest[1:]
