"""Trees as people and programs see them, and as files that can be handed in again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1 import paper_pb2
from firetrial_parser.tree_file import read_tree
from unit.client.cli.conftest import Call
from unit.client.fakes import World


@pytest.fixture
def paper(firetrial: Call, tmp_path: Path) -> str:
    (tmp_path / "study.md").write_text("# A study\n")
    return str(firetrial("submit", "paper", "study.md").output.strip())


def test_a_tree_is_shown_with_what_it_rests_on(firetrial: Call, paper: str) -> None:
    assert firetrial("trees", "show", paper).output.splitlines() == [
        "A study",
        "A. Body",
        "Journal 2025",
        "tree by model m, prompt v2",
        "3 of 4 statements (by words)",
        "",
        "0  A study",
        "  0.0  Table 1: accuracy \\x1b[31mfalls",
        "     It falls.",
        "     “it falls” p. 2",
    ]


def test_a_tree_that_was_exported_is_one_that_can_be_submitted(
    firetrial: Call, answer: Any, paper: str, tmp_path: Path
) -> None:
    assert answer("trees", "export", paper, "-o", "tree.json") == {"file": "tree.json"}
    data = (tmp_path / "tree.json").read_bytes()
    tree = read_tree(data)
    assert (tree.paper.title, tree.paper.year, tree.paper.id) == ("A study", 2025, paper)
    (leaf,) = tree.root.leaves()
    assert (leaf.evidence, leaf.quotes[0].page, leaf.quotes[0].score) == ("Table 1", 2, 1.0)
    assert answer("trees", "export", paper) == json.loads(data) == answer("trees", "show", paper)


def test_what_a_tree_cost_is_shown_with_its_paper(
    firetrial: Call, answer: Any, paper: str, world: World
) -> None:
    told = world.papers[paper]
    told.extraction = "model m, prompt v2"
    told.grounding.CopyFrom(paper_pb2.Grounding(supported=3, statements=4, method="words"))
    told.refused.append("0.1.evidence is 'Table 9': no such table")
    told.usage.add(
        purpose="tree-part", model="m", calls=2, prompt_tokens=90, completion_tokens=10, cost_usd=0.5
    )
    told.usage.add(purpose="tree-outline", model="m", calls=1, cache_hits=1)
    shown = firetrial("papers", "show", paper).output
    assert "tree by    model m, prompt v2" in shown
    assert "supported  3 of 4 statements (by words)" in shown
    assert "model      tree-part: 2 calls of m, 100 tokens, 0.5000 USD, 0 at hand" in shown
    assert "model      tree-outline: 1 calls of m, 0 tokens, price unknown, 1 at hand" in shown
    assert "refused    0.1.evidence is 'Table 9': no such table" in shown
    assert answer("papers", "show", paper)["usage"][0]["cost_usd"] == 0.5
