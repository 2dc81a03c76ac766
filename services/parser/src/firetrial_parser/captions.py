"""What the first words of a caption look like, and how its label is spelt out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firetrial_parser.document import Kind

_START = re.compile(
    r"(?P<extra>(?i:supplementary|supplemental|extended data|appendix)\s+)?"
    r"(?P<kind>Fig(?:ure)?|FIG(?:URE)?|Tab(?:le)?|TAB(?:LE)?)\.?\s*"
    r"(?P<number>[A-Z]?[.\-]?\d{1,3}(?:[.\-]\d{1,3})*[a-z]?|[IVXLC]{1,6})\b"
    r"(?P<mark>\s*[:.|—–](?=\s|$)|(?=\s*$)|\s+(?=[A-Z“\"(]))\s*"
)


@dataclass(frozen=True, slots=True)
class CaptionStart:
    """Label and kind of a caption; `mark` is the sign after the label ("" for none), `rest` the text."""

    label: str
    kind: Kind
    mark: str
    rest: str


def split_caption(text: str) -> CaptionStart | None:
    """Read the label off the front of a text, or None when it does not begin with one."""
    match = _START.match(text)
    if match is None:
        return None
    kind: Kind = "figure" if match["kind"].lower().startswith("fig") else "table"
    extra = match["extra"].strip().title() + " " if match["extra"] else ""
    label = f"{extra}{kind.title()} {match['number']}"
    return CaptionStart(label, kind, match["mark"].strip(), text[match.end() :])


def caption_start(text: str, *, continues: bool, distinct: bool) -> bool:
    """Whether a line begins a caption rather than going on with "… as in / Figure 3. We …".

    `continues` says that the line above breaks off in mid-sentence, `distinct` that the label is set apart
    (bold, or first in its block).
    """
    start = split_caption(text)
    if start is None:
        return False
    if start.mark in {":", "|"}:
        return True
    if start.mark:
        return distinct or not continues
    return distinct and not continues
