"""The nine real papers; the counts were made by hand on text and rendered pages."""

from pathlib import Path

import pytest

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


@pytest.mark.parametrize("name", PAPERS)
def test_every_caption_becomes_a_leaf_of_a_sound_tree(name: str, shared: Path) -> None:
    figures, tables, heading = PAPERS[name]
    file = shared / "firebench" / "papers" / f"{name}.pdf"
    document = read_document(load(file), file.name)
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


def test_columns_hyphens_and_ligatures(shared: Path) -> None:
    file = shared / "firebench" / "papers" / "lost_in_the_middle.pdf"
    document = read_document(load(file), file.name)
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
