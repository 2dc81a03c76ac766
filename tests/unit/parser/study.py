"""A short study in Markdown, and documents made of it."""

from __future__ import annotations

from firetrial_parser.document import Document
from firetrial_parser.markdown import read_markdown

TEXT = """\
# How heating time changes the hardness of steel samples

## Abstract

We heat samples and measure how hard they are afterwards.

## Question

How does the heating time change the hardness of steel samples?

## Scope

- Data: 24 samples of one steel.
- Metric: Vickers hardness, mean of five readings.
- Constraints: one furnace, no alloying.

## Method

Each sample is heated for one of four times and cooled in oil, then measured five times by one person.

## Results

Table 1: Hardness for each heating time.

| minutes | hardness |
| --- | --- |
| 10 | 410 |
| 40 | 655 |

Hardness increases from 410 at 10 minutes to 655 at 40 minutes (Table 1). The gain is largest between 10 and
20 minutes, where it reaches 150 points (Table 1).

Figure 1: Spread of the readings.

The spread of the readings does not grow with the heating time (Figure 1).

## Discussion

Longer times were not tried.
"""


def document(text: str = TEXT) -> Document:
    """The study, or another text, as a document."""
    return read_markdown(text.encode())
