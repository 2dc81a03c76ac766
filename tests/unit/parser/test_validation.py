from dataclasses import replace

from firetrial_parser.outlining import build_tree
from firetrial_parser.tree import Node, numbered
from firetrial_parser.validation import validate
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
