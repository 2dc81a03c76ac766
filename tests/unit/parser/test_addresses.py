"""Where a paper lies in the world."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firetrial_kit.hosts import Network, denied
from firetrial_parser.addresses import UNKNOWN, Addresses
from unit.parser.leaks.paper import document


def test_the_first_page_tells_them() -> None:
    assert Addresses.of(document()) == Addresses("2401.01234", "10.1000/steel.42", "aB3dE5fG7h")


def test_those_further_down_are_of_others() -> None:
    page = " " * 4000 + "https://doi.org/10.1000/other.1"
    assert Addresses.of(replace(document(), arxiv_id="", pages=(page,))) == UNKNOWN
    assert Addresses.of(replace(document(), arxiv_id="draft", pages=())) == UNKNOWN


def test_rules_are_rules_and_close_the_paper_s_own_pages() -> None:
    rules = Addresses.of(document()).denied()
    assert list(Network(denied=rules).faults("network")) == []
    assert UNKNOWN.denied() == ()
    closed = [denied(rule) for rule in rules]

    def is_closed(host: str, path: str) -> bool:
        return any(rule.names(host) and rule.hides(path) for rule in closed)

    assert is_closed("arxiv.org", "/abs/2401.01234v2")
    assert is_closed("export.arxiv.org", "/pdf/2401.01234")
    assert is_closed("doi.org", "/10.48550/arXiv.2401.01234")
    assert is_closed("openreview.net", "/forum?id=aB3dE5fG7h")
    assert not is_closed("arxiv.org", "/abs/2401.01235")
    assert not is_closed("huggingface.co", "/datasets/2401.01234")


@pytest.mark.parametrize("old", ["cs/0112017", "math.GT/0309136"])
def test_old_arxiv_ids(old: str) -> None:
    found = Addresses.of(replace(document(), arxiv_id=old, pages=()))
    assert found.arxiv == old
    assert f"arxiv.org/abs/{old}" in found.denied()
