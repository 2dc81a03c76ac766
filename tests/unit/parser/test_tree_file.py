"""A tree as a file: every fault by its node's path, and nothing that a file can hold breaks the reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.outlining import tree_of
from firetrial_parser.tree import SUBMITTED
from firetrial_parser.tree_file import document_of, read_tree
from unit.parser.study import document


def packed(root: Any, **more: Any) -> bytes:
    return json.dumps({"root": root, **more}).encode()


def node(kind: str, *children: Any, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "title": "T", "children": list(children), **more}


LEAF = node("leaf", evidence="Table 1", uncertain=True)


def faults(data: bytes) -> dict[str, str]:
    with pytest.raises(FiretrialError) as caught:
        read_tree(data)
    assert caught.value.reason is Reason.INVALID
    return {fault.field: fault.cure for fault in caught.value.faults}


def test_what_was_written_is_read_and_labelled_as_submitted() -> None:
    tree = tree_of(document())
    read = read_tree(json.dumps(tree.to_json()).encode())
    assert (read.root, read.paper, read.extraction) == (tree.root, tree.paper, SUBMITTED)


def test_little_is_needed_and_paths_are_given() -> None:
    tree = read_tree(packed(node("root", node("intermediate", LEAF, {**LEAF, "evidence": "Section 3.1"}))))
    assert [n.path for n in tree.root.walk()] == ["0", "0.0", "0.0.0", "0.0.1"]


@pytest.mark.parametrize(
    ("root", "told"),
    [
        (node("leaf", evidence="Table 1", uncertain=True), {"0": "the topmost node must be the root"}),
        (node("root"), {"0": "the tree has no leaf"}),
        (node("root", LEAF, node("intermediate")), {"0.1.children": "every branch must end in a leaf"}),
        (node("root", LEAF, LEAF), {"0.1": "is the same leaf as 0.0"}),
        (node("root", node("root", LEAF)), {"0.0": "there is one root only"}),
        (
            node("root", {**LEAF, "children": [LEAF]}),
            {"0.0.children": "a leaf has none", "0.0.0": "the same leaf"},
        ),
        (node("root", {**LEAF, "evidence": "my own work"}), {"0.0.evidence": "must name a figure"}),
        (node("root", node("leaf", evidence="Table 1")), {"0.0.conclusion": "state the finding"}),
        (node("root", LEAF, path="0.7"), {"0.path": "must be 0", "0.0.path": "must be 0.0"}),
        (node("root", {**LEAF, "title": 3}), {"0.0.title": "valid string"}),
        (node("root", {"kind": "leaf"}), {"0.0.title": "required"}),
        (node("root", {**LEAF, "kind": "twig"}), {"0.0.kind": "Input should be"}),
        (node("root", {**LEAF, "datasets": ["a", 1]}), {"0.0.datasets[1]": "valid string"}),
        (node("root", {**LEAF, "quotes": [{"text": 1}]}), {"0.0.quotes[0].text": "valid string"}),
        (node("root", {**LEAF, "findings": "x"}), {"0.0.findings": "is none of"}),
        (node("root", {**LEAF, "quotes": [{"text": "x", "leaf": 1}]}), {"0.0.quotes[0].leaf": "is none of"}),
    ],
)
def test_each_fault_is_named_by_its_node(root: Any, told: dict[str, str]) -> None:
    found = faults(packed(root))
    assert found.keys() == told.keys()
    assert all(told[field] in cure for field, cure in found.items())


def test_a_node_alone_is_told_what_a_file_holds() -> None:
    data = json.dumps(node("root", LEAF)).encode()
    assert '{"paper": {…}, "root": {…}}' in faults(data)["root"]


def test_a_fault_shows_what_was_found_and_not_all_around_it() -> None:
    for data in (packed(node("root", {"kind": "leaf"})), b"{ not JSON"):
        with pytest.raises(FiretrialError) as caught:
            read_tree(data)
        assert [fault.value for fault in caught.value.faults] in ([""], ["{ not JSON"])


def test_all_faults_are_told_at_once() -> None:
    found = faults(
        packed(node("root", {**LEAF, "titel": "x"}, {**LEAF, "page_": 1}), papers={}, paper={"name": "x"})
    )
    assert found.keys() == {"papers", "paper.name", "0.0.titel", "0.1.page_"}


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"null", b"{", b'{"root": 1}', b"\xff\xfe", b'{"root":' * 1000, b"[" * 10_000,
     b'{"root": {"kind": "root", "title": "\\ud800"}}', b" " * (8 * 1024 * 1024 + 1)],
)  # fmt: skip
def test_what_is_no_tree_is_refused_and_breaks_nothing(data: bytes) -> None:
    assert faults(data)


def test_towers_and_crowds_are_refused() -> None:
    tower: Any = LEAF
    for _ in range(30):
        tower = node("intermediate", tower)
    assert "levels" in faults(packed(node("root", tower)))["0"]
    crowd = [{**LEAF, "evidence": f"Table {n}"} for n in range(5_001)]
    assert "nodes" in faults(packed(node("root", *crowd)))["0"]


def test_a_tree_by_itself_is_a_document() -> None:
    tree = tree_of(document())
    made = document_of(json.dumps(tree.to_json()).encode())
    assert (made.format, made.title) == ("tree", tree.paper.title)
    assert [caption.label for caption in made.captions] == ["Table 1", "Figure 1"]
    assert [section.title for section in made.sections] == [tree.root.title, "Results"]
    assert all(made.locate(node.description) for node in tree.root.walk() if node.description)
