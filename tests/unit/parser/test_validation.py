from dataclasses import replace

import pytest

from firetrial_parser.document import Table
from firetrial_parser.outlining import build_tree
from firetrial_parser.tree import Node, Quote, numbered
from firetrial_parser.validation import anchored, validate
from unit.parser.study import document


def faults(tree: Node) -> dict[str, str]:
    return {fault.field: fault.value for fault in validate(tree, document())}


def with_leaf(**changes: object) -> Node:
    tree = build_tree(document())
    section = tree.children[0]
    leaf = replace(section.children[0], **changes)  # type: ignore[arg-type]
    return replace(tree, children=(replace(section, children=(leaf, *section.children[1:])),))


def test_a_missing_figure() -> None:
    assert faults(with_leaf(evidence="Figure 99")) == {"0.0.0.evidence": "Figure 99"}


def test_an_invented_number() -> None:
    assert faults(with_leaf(conclusion="Hardness reaches 777 at 40 minutes.")) == {"0.0.0.conclusion": "777"}


def test_numbers_are_the_same_however_they_are_written() -> None:
    assert not faults(with_leaf(conclusion="Hardness rises from 410.0 to 655."))


def test_an_invented_quotation() -> None:
    quote = "steel is always harder than iron"
    assert faults(with_leaf(conclusion=f"The paper says “{quote}”.")) == {"0.0.0.conclusion": quote}
    assert not faults(with_leaf(conclusion="It says “hardness   increases from 410 at 10 min-utes”."))


def test_neither_conclusion_nor_uncertain() -> None:
    assert faults(with_leaf(conclusion="")) == {"0.0.0.conclusion": ""}
    assert not faults(with_leaf(conclusion="", uncertain=True))


def test_sections_are_evidence_too() -> None:
    assert not faults(with_leaf(evidence="Discussion"))


def test_shape() -> None:
    tree = build_tree(document())
    leaf = tree.leaves()[0]
    bare = numbered(replace(tree, children=(*tree.children, Node("intermediate", "Empty"))))
    assert faults(bare) == {"0.1.children": "Empty"}
    second = numbered(replace(tree, children=(*tree.children, replace(tree, title="Other"))))
    assert faults(second)["0.1"] == "Other"
    grown = numbered(replace(tree, children=(replace(leaf, children=(tree.leaves()[1],)),)))
    assert "0.0.children" in faults(grown)
    assert faults(replace(leaf, path="0"))["0"] == "leaf"
    assert faults(Node("root", "R"))["0"] == "R"
    assert faults(with_leaf(path="0.9"))["0.0.0.path"] == "0.9"
    assert faults(with_leaf(title=" "))["0.0.0.title"] == ""


def test_the_same_leaf_twice() -> None:
    tree = build_tree(document())
    leaf = tree.leaves()[0]
    twice = numbered(replace(tree, children=(leaf, leaf)))
    assert faults(twice) == {"0.1": "Table 1"}


@pytest.mark.parametrize("number", ["12.5", "0.41", "87%", "1,655"])
def test_numbers_that_no_rounding_makes_the_paper_s(number: str) -> None:
    assert faults(with_leaf(conclusion=f"Hardness reaches {number}.")) == {"0.0.0.conclusion": number}


def test_numbers_of_tables_count() -> None:
    paper = replace(document(), tables=(Table("Table 1", 1, (("oil", "731.26"),)),))
    leaf = with_leaf(conclusion="In oil it is 731.3.")
    assert validate(leaf, paper) == []


def test_quotes_are_looked_for_and_anchored() -> None:
    good, bad = Quote("Longer times were not tried"), Quote("Longer times were tried")
    tree = with_leaf(quotes=(good, bad))
    assert faults(tree) == {"0.0.0.quotes[1]": "Longer times were tried"}
    kept, lost = anchored(tree, document()).leaves()[0].quotes
    assert document().pages[0][kept.start : kept.end] == good.text
    assert lost.page == 0


def test_evidence_is_spelt_as_its_caption() -> None:
    tree = anchored(with_leaf(evidence="tab. 1"), document())
    assert tree.leaves()[0].evidence == "Table 1"
    assert validate(tree, document()) == []


def test_two_leaves_without_a_finding_are_two_where_they_ask_for_two_things() -> None:
    tree = build_tree(document())
    leaf = replace(tree.leaves()[0], conclusion="", uncertain=True)
    other = replace(leaf, title="Another", path="0.1")
    assert faults(numbered(replace(tree, children=(leaf, other)))) == {}
    assert faults(numbered(replace(tree, children=(leaf, leaf)))) == {"0.1": "Table 1"}


@pytest.mark.parametrize(
    ("label", "known"),
    [
        ("Figure 1", True),
        ("Fig. 1a", True),
        ("TABLE 1", True),
        ("Section 2", False),
        ("Results", True),
        ("", False),
    ],
)
def test_what_counts_as_evidence(label: str, known: bool) -> None:
    assert bool(faults(with_leaf(evidence=label))) is not known
