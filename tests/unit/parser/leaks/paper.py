"""A paper in Markdown, with all that could find it."""

from __future__ import annotations

from dataclasses import replace

from firetrial_parser.document import Document
from unit.parser.study import document as read

TEXT = """\
# Slow Cooling Wins: How Furnace Time Changes the Hardness of Steel Samples

Ada Byron, Charles M. Babbage

## Abstract

We heat samples of steel and measure how hard they become.

## 1 Introduction

In this paper we introduce StepHeat, a procedure that raises the temperature in small steps.
The samples of the first series were all taken from the same bar of steel by one person.

## 2 Heating time

Table 1: Hardness for each heating time.

We use StepHeat on each sample and rest it in sand between any two of the steps for an hour.
Hardness increases from 410 at ten minutes to 655 at forty minutes of heating (Table 1).
"""
FINDINGS = ["Hardness increases from 410 at ten minutes to 655 at forty minutes of heating."]
METHOD = ["We use StepHeat on each sample and rest it in sand between any two of the steps for an hour."]


def document() -> Document:
    """The paper as it is read, with what a first page tells."""
    paper = read(TEXT)
    front = "arXiv:2401.01234v2 https://doi.org/10.1000/steel.42 https://openreview.net/forum?id=aB3dE5fG7h\n"
    return replace(
        paper,
        title="Slow Cooling Wins: How Furnace Time Changes the Hardness of Steel Samples",
        authors=("Ada Byron", "Charles M. Babbage", "Plato"),
        arxiv_id="2401.01234v2",
        pages=(front + TEXT,),
    )
