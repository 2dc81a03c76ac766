"""The nine real papers, held to a count made by hand on their rendered pages (seven of them completely).

`data/hand_count.json`: for each paper the page of each figure and table, the headings as title, level and
page, and for tables with columns how many rows and columns they have.
"""

import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from firetrial_parser.document import Document
from firetrial_parser.outlining import build_tree
from firetrial_parser.reading import load, read_document
from firetrial_parser.task import make_tasks
from firetrial_parser.validation import validate

pytestmark = pytest.mark.needs("shared")

# name → figures, tables (each numbered from 1 without a gap), a heading and its level
PAPERS = {
    "awareness_detection": (18, 9, ("4.1 Frontier models show evaluation-awareness", 2)),
    "cot_without_prompting": (6, 13, ("2.2. CoT-Decoding for Extracting CoT Paths", 2)),
    "fractal_complexity_of_language": (20, 5, ("B.1. Hölder Exponent", 2)),
    "llm_introspection": (40, 2, ("3.2.2 CROSS-PREDICTION RESULTS", 3)),
    "llm_racial_bias_in_medicine": (2, 1, ("Online Methods", 1)),
    "llm_value_consistency": (12, 5, ("3.2.1 VALUE RANKINGS", 3)),
    "llms_lack_self_correction": (8, 8, ("6 CONCLUSION AND DISCUSSION", 1)),
    "lost_in_the_middle": (16, 7, ("2.3 Results and Discussion", 2)),
    "uncertainty_in_instruction_following": (10, 11, ("3.1.1 CONTROLLED VERSION", 3)),
}
COUNTED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "hand_count.json").read_text("utf-8")
)
SECONDS, MEGABYTES = 2.0, 500


@lru_cache(maxsize=len(PAPERS))
def read(file: Path) -> Document:
    return read_document(load(file), file.name)


@pytest.mark.parametrize("name", PAPERS)
def test_every_caption_becomes_a_leaf_of_a_sound_tree(name: str, shared: Path) -> None:
    figures, tables, heading = PAPERS[name]
    document = read(shared / "firebench" / "papers" / f"{name}.pdf")
    labels = [f"Figure {n}" for n in range(1, figures + 1)] + [f"Table {n}" for n in range(1, tables + 1)]
    assert sorted(c.label for c in document.captions) == sorted(labels)
    assert heading in [(s.title, s.level) for s in document.sections]
    tree = build_tree(document)
    assert sorted(leaf.evidence for leaf in tree.leaves()) == sorted(labels)
    assert validate(tree, document) == []
    made = make_tasks(document, tree)[0]
    assert made.truth.text
    assert document.title not in made.public.instruction
    assert not any(author in made.public.instruction for author in document.authors)
    for section in document.sections:
        assert len(section.anchors) == len(section.paragraphs)
        for anchor, paragraph in zip(section.anchors, section.paragraphs, strict=True):
            begins = document.pages[anchor.page - 1][anchor.start : anchor.end]
            assert letters(paragraph).startswith(letters(begins)[:40])


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def test_figures_and_tables_against_the_count(shared: Path) -> None:
    wanted, found = set(), set()
    for name, counted in COUNTED.items():
        for kind in ("figure", "table"):
            wanted |= {(name, f"{kind.title()} {n}", page) for n, page in counted[f"{kind}s"].items()}
        document = read(shared / "firebench" / "papers" / f"{name}.pdf")
        found |= {(name, caption.label, caption.page) for caption in document.captions}
    assert len(wanted & found) >= 0.98 * len(wanted)
    assert not found - wanted


def test_sections_and_cells_against_the_count(shared: Path) -> None:
    levels, found = set(), set()
    tables = right = 0
    for name, counted in COUNTED.items():
        document = read(shared / "firebench" / "papers" / f"{name}.pdf")
        found |= {(name, letters(s.title), s.page, s.level) for s in document.sections}
        levels |= {(name, letters(title), page, level) for title, level, page in counted["sections"]}
        cells = {table.label: (len(table.rows), len(table.rows[0])) for table in document.tables}
        tables += len(counted["cells"])
        right += sum(cells.get(f"Table {n}") == tuple(size) for n, size in counted["cells"].items())
    titles = {entry[:3] for entry in levels}
    there = {entry[:3] for entry in found}
    assert len(titles & there) >= 0.95 * len(titles)
    assert not there - titles
    assert len(levels & found) >= 0.95 * len(levels)
    assert right >= 0.85 * tables


def test_columns_hyphens_and_ligatures(shared: Path) -> None:
    document = read(shared / "firebench" / "papers" / "lost_in_the_middle.pdf")
    text = " ".join(section.text for section in document.sections)
    assert (
        "language model performance is highest when relevant information occurs at the very beginning "
        "(primacy bias) or end of its input context (recency bias)"
    ) in text
    assert (
        "performance significantly degrades when models must access and use information in the middle" in text
    )
    assert "\ufb01" not in text
    assert "substan- tial" not in text
    assert "Work partially completed as an intern" not in text  # a footnote


def test_what_stands_apart(shared: Path) -> None:
    document = read(shared / "firebench" / "papers" / "llms_lack_self_correction.pdf")
    assert (document.venue, document.year, document.arxiv_id) == ("ICLR", 2024, "2310.01798")
    assert document.authors[3:5] == ("Huaixiu Steven Zheng", "Adams Wei Yu")  # only raised marks part them
    assert [s.title[:1] for s in document.sections if s.supplementary] == ["A"]
    assert "Published as a conference paper" not in document.text  # furniture
    assert len(document.references) == 41
    assert document.references[-1].startswith("Andy Zou, Zifan Wang")
    table = next(table for table in document.tables if table.label == "Table 2")
    assert table.header_rows == 1
    assert table.rows[:2] == (
        ("", "", "GSM8K", "CommonSenseQA", "HotpotQA"),
        ("GPT-3.5", "Standard Prompting", "75.9", "75.8", "26.0"),
    )


def test_a_table_that_lies_on_its_side(shared: Path) -> None:
    document = read(shared / "firebench" / "papers" / "llm_value_consistency.pdf")
    table = next(table for table in document.tables if table.label == "Table 2")
    assert (table.page, len(table.rows), len(table.rows[0]), table.header_rows) == (14, 22, 19, 3)
    assert table.rows[-1][:7] == ("19", "POD", "-1.40", "-2.14", "19", "-2.05", "19")


MEASURE = r"""
import re, sys, time
from firetrial_parser.outlining import build_tree
from firetrial_parser.reading import load, read_document
from pathlib import Path
file = Path(sys.argv[1])
data = load(file)
started = time.process_time()
read_document(data, file.name)
seconds = time.process_time() - started
# getrusage counts what this process was forked from, too
print(seconds, int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
"""


@pytest.mark.parametrize(
    "name", PAPERS if os.environ.get("FIRETRIAL_BENCH") == "full" else ["llm_introspection"]
)
def test_one_core_and_little_memory_are_enough(name: str, shared: Path) -> None:
    """Of a process of its own; FIRETRIAL_BENCH=full measures all nine."""
    file = shared / "firebench" / "papers" / f"{name}.pdf"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", MEASURE, str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    seconds, megabytes = map(float, ran.stdout.split())
    print(f"{name}: {seconds:.2f} s, {megabytes:.0f} MB")
    assert seconds <= SECONDS
    assert megabytes <= MEGABYTES
