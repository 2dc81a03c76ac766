"""Names that users choose cannot flood a monitor, nor break its page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from firetrial_kit.labels import OTHER, Bounded, clean


def test_ten_thousand_names_are_a_hundred_and_other() -> None:
    labels = Bounded()
    shown = [labels.of(f"agent-{number}")[0] for number in range(10_000)]
    assert shown[:100] == [f"agent-{number}" for number in range(100)]
    assert set(shown[100:]) == {OTHER}
    assert labels.of("agent-7") == ("agent-7",), "one that is known stays itself"


def test_combinations_are_bounded_too() -> None:
    labels = Bounded()
    shown = {labels.of(f"p-{n % 97}", f"a-{n % 89}", f"m-{n % 83}") for n in range(10_000)}
    assert len(shown) == 1001
    assert ("other", "other", "other") in shown


@given(st.text())
def test_any_name_can_be_shown(name: str) -> None:
    label = clean(name)
    assert len(label) <= 80
    assert label.isprintable() or not label
    registry = CollectorRegistry()
    Counter("told", "Told.", ["name"], registry=registry).labels(label).inc()
    family = next(iter(text_string_to_metric_families(generate_latest(registry).decode())))
    assert family.samples[0].labels == {"name": label}


def test_lone_surrogates_can_be_shown() -> None:
    assert clean("a\ud800b\n") == "a?b?"
