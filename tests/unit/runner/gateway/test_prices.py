"""Prices: the operator's, the table's, or unknown."""

from __future__ import annotations

import pytest

from firetrial_runner.gateway.exchange import Tokens
from firetrial_runner.gateway.prices import Price, Prices

OPENAI, ANTHROPIC = "https://api.openai.com/v1", "https://api.anthropic.com/v1"


@pytest.mark.parametrize(
    ("model", "url", "tokens", "usd"),
    [
        # As published: gpt-4o 2.50, 1.25 cached, 10.00; claude-sonnet-4-5 3.00, 0.30, 3.75 written, 15.00.
        ("gpt-4o", OPENAI, Tokens(1_000, 100, 200), 0.00325),
        ("gpt-4o-2024-08-06", OPENAI, Tokens(1_000, 100), 0.0035),
        ("claude-sonnet-4-5", ANTHROPIC, Tokens(1_000, 100, 200, 50), 0.0039975),
        ("text-embedding-3-small", OPENAI, Tokens(1_000), 0.00002),
    ],
)
def test_by_the_table(model: str, url: str, tokens: Tokens, usd: float) -> None:
    assert Prices().cost(model, "", url, tokens) == pytest.approx(usd)


@pytest.mark.parametrize(
    ("model", "provider", "url"),
    [
        ("no-such-model", "openai", OPENAI),
        ("gpt-4o-made-up", "openai", OPENAI),
        ("gpt-4o", "", "http://127.0.0.1:8000/v1"),  # the name says nothing of who serves it
        ("gpt-4o", "nobody", OPENAI),
        ("claude-sonnet-4-5", "", OPENAI),
    ],
)
def test_what_is_unknown_is_not_free(model: str, provider: str, url: str) -> None:
    assert Prices().cost(model, provider, url, Tokens(1_000, 100)) is None


def test_the_operators_own_come_first() -> None:
    prices = Prices(
        {"gpt-4o": Price(1.0, 2.0, cached=0.1), "mine": Price(1.0, 2.0, 0.1, 4.0), "free": Price(0, 0)}
    )
    assert prices.cost("gpt-4o", "", OPENAI, Tokens(1_000_000, 1_000_000, 500_000)) == pytest.approx(2.55)
    assert prices.cost("mine", "", "", Tokens(1_000_000, 0, 0, 500_000)) == pytest.approx(2.5)
    assert prices.cost("free", "", "", Tokens(10, 10)) == 0.0
