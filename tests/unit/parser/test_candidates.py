"""The rank of leaves, with its reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firetrial_parser.candidates import Candidate, rank_candidates, rank_leaves
from firetrial_parser.outlining import build_tree
from firetrial_parser.tree import Node, numbered
from unit.parser.study import document

PAPER = document()
TREE = build_tree(PAPER)


def ranked(**changed: object) -> Candidate:
    """The study's best leaf, changed."""
    best = rank_leaves(PAPER, TREE)[0]

    def swapped(node: Node) -> Node:
        if node.path == best.path:
            return replace(node, **changed)  # type: ignore[arg-type]
        return replace(node, children=tuple(map(swapped, node.children)))

    candidates = rank_candidates(PAPER, numbered(swapped(TREE)))
    return next(candidate for candidate in candidates if candidate.leaf.evidence == best.evidence)


def test_the_reasons_add_up_to_the_score_and_the_order() -> None:
    found = rank_candidates(PAPER, TREE)
    assert [candidate.leaf.evidence for candidate in found] == ["Table 1", "Figure 1"]
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)
    for candidate in found:
        assert candidate.score == sum(reason.points for reason in candidate.reasons)
        assert all(reason.why for reason in candidate.reasons)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("We fine-tune the model on 64 A100 GPUs.", "needs training"),
        ("Crowdworkers rate each answer.", "needs people"),
        ("The records are not publicly available.", "its data are not open"),
    ],
)
def test_what_is_dear_costs_points_and_is_quoted(words: str, why: str) -> None:
    plain, dear = ranked(protocol="We measure it."), ranked(protocol=words)
    assert dear.score < plain.score
    assert any(reason.why.startswith(why) and "“" in reason.why for reason in dear.reasons)


def test_named_inputs_are_open_inputs() -> None:
    assert ranked(datasets=("GSM8K",), models=()).score > ranked(datasets=(), models=()).score


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"conclusion": "", "uncertain": True}, "no sentence states"),
        ({"uncertain": True}, "uncertain"),
        ({"conclusion": "Hardness increases to 9999."}, "9999"),
        (
            {"evidence": "Table 1", "conclusion": "Hardness is “a thing nobody ever wrote there”."},
            "quotation",
        ),
    ],
)
def test_what_cannot_be_a_target_says_why(changed: dict[str, object], why: str) -> None:
    candidate = ranked(**changed)
    assert any(why in line for line in candidate.against), candidate.against
    assert candidate.leaf.path not in {
        leaf.path for leaf in rank_leaves(PAPER, numbered(TREE)) if leaf is candidate.leaf
    }
