"""Edits of a tree: all or none, field by field, with what they changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError
from firetrial_parser.selection.editing import FIELDS, Change, Edit, apply
from firetrial_parser.tree import Node, Quote, numbered

TREE = numbered(
    Node(
        "root",
        "Do models count?",
        children=(
            Node("leaf", "Table 1: Gain", evidence="Table 1", datasets=("A", "B"), conclusion="It falls."),
            Node("intermediate", "Size", children=(Node("leaf", "Figure 1: Curve", evidence="Figure 1"),)),
        ),
    )
)


def anchor(text: str) -> Quote:
    return Quote(text, 3, 0, len(text), 1.0)


def test_fields_are_set_and_told_before_and_after() -> None:
    edits = [
        Edit("0.0", "conclusion", ("It rises.",)),
        Edit("0.0", "datasets", ("A", " C ", "")),
        Edit("0.0", "uncertain", ("True",)),
        Edit("0.0", "page", ("4",)),
        Edit("0.0", "quotes", ("it rises with size",)),
        Edit("0", "title", ("Do models count?",)),
    ]
    tree, changes = apply(TREE, edits, anchor)
    leaf = tree.at("0.0")
    assert leaf is not None
    assert (leaf.conclusion, leaf.datasets, leaf.uncertain, leaf.page) == ("It rises.", ("A", "C"), True, 4)
    assert leaf.quotes == (Quote("it rises with size", 3, 0, 18, 1.0),)
    assert Change("0.0", "datasets", "A\nB", "A\nC") in changes
    assert Change("0.0", "uncertain", "false", "true") in changes
    assert [one.path for one in changes] == ["0.0"] * 5, "a title that stays is no change"


def test_a_removed_node_takes_what_is_below_it_and_the_others_move_up() -> None:
    tree, changes = apply(TREE, [Edit("0.0", remove=True)], anchor)
    assert [node.path for node in tree.walk()] == ["0", "0.0", "0.0.0"]
    assert changes == [Change("0.0", "removed", "Table 1: Gain", "")]


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (Edit("0.7", "title", ("T",)), "edits[0].path"),
        (Edit("0", remove=True), "edits[0].remove"),
        (Edit("0", "kind", ("leaf",)), "edits[0].field"),
        (Edit("0", "title", ()), "edits[0].values"),
        (Edit("0", "title", ("",)), "edits[0].values"),
        (Edit("0", "title", ("a", "b")), "edits[0].values"),
        (Edit("0", "page", ("²",)), "edits[0].values"),
        (Edit("0", "page", ("-1",)), "edits[0].values"),
        (Edit("0", "uncertain", ("maybe",)), "edits[0].values"),
        (Edit("0", "conclusion", ("x" * 20_001,)), "edits[0].values"),
        (Edit("0", "models", ("m",) * 101), "edits[0].values"),
    ],
)
def test_a_bad_edit_is_told_with_its_field_and_nothing_is_done(edit: Edit, field: str) -> None:
    with pytest.raises(FiretrialError) as caught:
        apply(TREE, [edit], anchor)
    assert [fault.field for fault in caught.value.faults] == [field]
    assert caught.value.faults[0].cure


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(FiretrialError) as caught:
        apply(
            TREE, [Edit("9", "title", ("T",)), Edit("0", "page", ("x",)), Edit("0", "page", ("1",))], anchor
        )
    assert len(caught.value.faults) == 3
    with pytest.raises(FiretrialError, match="1 to 100"):
        apply(TREE, [], anchor)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)
EDITS = st.builds(
    Edit,
    st.sampled_from([node.path for node in TREE.walk()]),
    st.sampled_from([name for name in FIELDS if name not in {"page", "uncertain"}]),
    st.tuples(TEXTS),
)


@given(st.lists(EDITS, min_size=1, max_size=8, unique_by=lambda edit: (edit.path, edit.field)))
def test_edits_change_what_they_name_and_nothing_else(edits: list[Edit]) -> None:
    tree, changes = apply(TREE, edits, anchor)
    assert [node.path for node in tree.walk()] == [node.path for node in TREE.walk()]
    named = {(edit.path, edit.field) for edit in edits}
    assert {(change.path, change.field) for change in changes} <= named
    for before, after in zip(TREE.walk(), tree.walk(), strict=True):
        for name in FIELDS:
            if (before.path, name) not in named:
                assert getattr(before, name) == getattr(after, name)
    assert apply(tree, edits, anchor) == (tree, []), "made twice, they change nothing more"
