"""A small copy of the official benchmark's layout."""

from __future__ import annotations

from pathlib import Path

INSTRUCTION = """\
You are a research agent. Conduct research about the question: "Does noise change accuracy?"

Models:
- gpt-4o via the provided inference utilities
- Computational budget: 1000 API calls per model

Datasets:
- Labels: /data/labels.jsonl

Please design and execute experiments.
"""


def label_noise(root: Path) -> Path:
    """A repository with one task that has no defect, written under `root`."""
    task = root / "benchmark/papers/label_noise"
    (task / "instruction").mkdir(parents=True)
    (task / "instruction/instruction.txt").write_text(INSTRUCTION)
    (task / "data").mkdir()
    (task / "data/labels.jsonl").write_text("{}\n")
    tables = root / "eval/RAGChecker"
    (tables / "papers").mkdir(parents=True)
    (tables / "papers/label_noise.pdf").write_bytes(b"%PDF-")
    write_tables(root, {"label_noise": "Does noise change accuracy?"}, {"label_noise": "It does."})
    return root


def write_tables(root: Path, query: object, gt: object) -> None:
    """The two tables, in a file that ends the program of whoever runs it."""
    text = f"import os\nraise SystemExit('this file is never run')\nquery = {query!r}\ngt = {gt!r}\n"
    (root / "eval/RAGChecker/utils.py").write_text(text)
