from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError
from firetrial_parser.candidates import rank_leaves
from firetrial_parser.outlining import build_tree
from firetrial_parser.task import make_tasks, slug
from unit.parser.study import TEXT, document


def test_the_main_table_is_the_target_and_its_findings_the_truth() -> None:
    (made,) = make_tasks(document(), build_tree(document()))
    assert made.truth.evidence == "Table 1"
    assert made.truth.leaf_path == "0.0.0"
    assert made.truth.paper_id == document().sha256
    assert len(made.truth.statements) == 2
    assert "Table" not in made.truth.text
    assert made.truth.task_id == made.public.id == f"heating-time-hardness-steel-{made.public.version}"


def test_the_paper_s_own_question_and_scope_are_public() -> None:
    public = make_tasks(document(), build_tree(document()))[0].public
    assert public.question == "How does the heating time change the hardness of steel samples?"
    assert public.scope == (
        "Data: 24 samples of one steel.",
        "Metric: Vickers hardness, mean of five readings.",
        "Constraints: one furnace, no alloying.",
    )
    assert public.question in public.instruction
    assert "conclusion.md" in public.instruction


def test_nothing_public_gives_the_truth_away() -> None:
    text = TEXT.replace(
        "- Constraints: one furnace, no alloying.",
        "- Constraints: one furnace. "
        "Hardness increases from 410 at 10 minutes to 655 at 40 minutes, as we know.",
    )
    made = make_tasks(document(text), build_tree(document(text)))[0]
    assert not made.secrets.given_away_by(made.public.instruction)
    assert "Constraints: one furnace." in made.public.scope
    assert "410" not in made.public.instruction


def test_a_given_question_that_leaks_is_replaced() -> None:
    asked = "How does the heating time change the hardness of steel samples?"
    text = TEXT.replace(
        asked, "Is it so that hardness increases from 410 at 10 minutes to 655 at 40 minutes?"
    )
    public = make_tasks(document(text), build_tree(document(text)))[0].public
    assert "410" not in public.question


def test_the_id_is_a_function_of_the_content() -> None:
    first = make_tasks(document(), build_tree(document()))[0].public
    again = make_tasks(document(), build_tree(document()))[0].public
    other = document(TEXT.replace("655", "650"))
    changed = make_tasks(other, build_tree(other))[0].public
    assert first == again
    assert changed.question == first.question
    assert changed.id != first.id


def test_several_tasks_are_different_tasks() -> None:
    made = make_tasks(document(), build_tree(document()), 5)
    assert [m.truth.evidence for m in made] == ["Table 1", "Figure 1"]
    assert made[0].public.id != made[1].public.id


def test_examples_and_appendices_come_last() -> None:
    text = (
        "# T\n\n## 1 Method\n\nFigure 1: Example of a prompt.\n\n"
        "Accuracy falls with 10% noise (Figure 1).\n\n"
        "## 2 Results\n\nTable 1: Scores.\n\n"
        "Accuracy falls with 10% noise in all cases (Table 1).\n\n"
        "## References\n\n## A More\n\nTable 2: Scores.\n\n"
        "Accuracy falls with 20% noise by 3 points (Table 2).\n"
    )
    paper = document(text)
    assert rank_leaves(paper, build_tree(paper))[0].evidence == "Table 1"


def test_a_tree_without_a_finding_gives_no_task() -> None:
    paper = document("# T\n\n## Method\n\nTable 1: Settings of the furnace.\n")
    with pytest.raises(FiretrialError, match="none with a conclusion"):
        make_tasks(paper, build_tree(paper))


def test_a_pdf_gives_names_only_as_scope() -> None:
    paper = replace(document(), format="pdf")
    public = make_tasks(paper, build_tree(paper))[0].public
    assert not any("24 samples" in line for line in public.scope)


@given(st.text(max_size=200))
def test_slugs_are_always_ids(text: str) -> None:
    made = slug(text)
    assert 1 <= len(made) <= 48
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
