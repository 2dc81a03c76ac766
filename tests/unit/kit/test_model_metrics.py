"""What models cost is counted by service, purpose and model, and an unknown price is not zero."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from firetrial_kit.asking import Call, Price, Usage
from firetrial_kit.model_metrics import ModelMetrics

USAGE = Usage(1, 100, 10, 20)


def test_calls_by_purpose_and_model() -> None:
    registry = CollectorRegistry()
    observe = ModelMetrics(registry).observer("judge", {"m": Price(2.0, 8.0, 2.0)})
    observe(Call("m", 0.3, USAGE, answered=True, purpose="verdicts"))
    observe(Call("other-one", 0.3, USAGE, answered=True, purpose="verdicts"))
    observe(Call("m", 9.0, Usage(), answered=False, purpose="verdicts"))

    def value(name: str, model: str = "m", **labels: str) -> float | None:
        by = {"service": "judge", "purpose": "verdicts", "model": model, **labels}
        return registry.get_sample_value(f"firetrial_model_{name}", by)

    assert value("calls_total", result="answered") == 1
    assert value("calls_total", result="failed") == 1
    assert value("tokens_total", kind="cached") == 20
    assert value("cost_usd_total") == pytest.approx(280e-6)
    assert value("cost_usd_total", "other-one") is None
    assert value("unpriced_calls_total", "other-one") == 1
    by = {"service": "judge", "model": "m"}
    assert registry.get_sample_value("firetrial_model_call_seconds_count", by) == 2


def test_what_a_budget_refuses_was_never_asked() -> None:
    registry = CollectorRegistry()
    metrics = ModelMetrics(registry)
    observe = metrics.observer("parser", {}, budget="screening")
    by = {"service": "parser", "scope": "screening"}
    assert registry.get_sample_value("firetrial_budget_refusals_total", by) == 0
    observe(Call("m", 0.0, Usage(), answered=False, purpose="screen", refused=True))
    assert registry.get_sample_value("firetrial_budget_refusals_total", by) == 1
    assert not [s for f in registry.collect() if f.name == "firetrial_model_calls" for s in f.samples]


def test_ten_thousand_models_are_a_hundred_and_other() -> None:
    registry = CollectorRegistry()
    observe = ModelMetrics(registry).observer("judge", {})
    for number in range(10_000):
        observe(Call(f"model-{number}", 0.1, USAGE, answered=True, purpose="verdicts"))
    (calls,) = (family for family in registry.collect() if family.name == "firetrial_model_calls")
    counted = {s.labels["model"]: s.value for s in calls.samples if s.name.endswith("_total")}
    assert len(counted) == 101
    assert counted["other"] == 9_900
