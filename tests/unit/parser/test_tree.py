import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError
from firetrial_parser.outlining import build_tree
from firetrial_parser.tree import Node, Quote, numbered
from firetrial_parser.validation import validate
from unit.parser.study import document

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MANY = st.lists(TEXTS, max_size=3).map(tuple)
PLACES = st.integers(0, 2**31 - 1)
QUOTES = st.lists(
    st.builds(Quote, text=TEXTS, page=PLACES, start=PLACES, end=PLACES, score=st.floats(0, 1)), max_size=2
).map(tuple)
LEAVES = st.builds(
    Node, kind=st.just("leaf"), title=TEXTS, description=TEXTS, evidence=TEXTS, page=st.integers(0, 99),
    datasets=MANY, models=MANY, metrics=MANY, protocol=TEXTS, conclusion=TEXTS, uncertain=st.booleans(),
    task=TEXTS, quotes=QUOTES,
)  # fmt: skip
BRANCHES = st.recursive(
    LEAVES,
    lambda below: st.builds(
        Node,
        kind=st.just("intermediate"),
        title=TEXTS,
        description=TEXTS,
        quotes=QUOTES,
        children=st.lists(below, min_size=1, max_size=3).map(tuple),
    ),
    max_leaves=8,
)
TREES = st.builds(
    Node, kind=st.just("root"), title=TEXTS, children=st.lists(BRANCHES, min_size=1, max_size=3).map(tuple)
).map(numbered)


def test_a_leaf_for_each_caption_under_the_section_that_speaks_of_it() -> None:
    tree = build_tree(document())
    assert tree.kind == "root"
    assert tree.title == document().title
    assert [n.title for n in tree.children] == ["Results"]
    assert [(n.path, n.evidence) for n in tree.leaves()] == [("0.0.0", "Table 1"), ("0.0.1", "Figure 1")]
    assert not any(leaf.uncertain for leaf in tree.leaves())
    assert validate(tree, document()) == []


def test_a_leaf_without_a_finding_is_uncertain() -> None:
    tree = build_tree(document("# T\n\n## Method\n\nTable 1: Settings of the furnace.\n"))
    assert [(leaf.uncertain, leaf.conclusion) for leaf in tree.leaves()] == [(True, "")]


def test_sections_without_a_leaf_are_left_out() -> None:
    titles = {node.title for node in build_tree(document()).walk()}
    assert not titles & {"Abstract", "Method", "Discussion"}


def test_a_figure_in_the_references_belongs_to_the_section_before() -> None:
    tree = build_tree(document("# T\n\n## Results\n\ntext\n\n## References\n\nFigure 1: Late.\n"))
    assert tree.children[0].title == "Results"


def test_a_paper_without_figure_or_table_is_refused() -> None:
    with pytest.raises(FiretrialError, match="needs a leaf"):
        build_tree(document("# Title\n\n## Results\n\nNothing is captioned here.\n"))


def test_nodes_are_found_by_path() -> None:
    tree = build_tree(document())
    leaf = tree.at("0.0.1")
    assert leaf is not None
    assert leaf.evidence == "Figure 1"
    assert tree.parent("0.0.1") == tree.children[0]
    assert tree.parent("0") is None
    assert tree.at("0.7") is None


@given(TREES)
def test_paths_are_unique_positions(tree: Node) -> None:
    nodes = list(tree.walk())
    assert len({node.path for node in nodes}) == len(nodes)
    assert all(tree.at(node.path) == node for node in nodes)
