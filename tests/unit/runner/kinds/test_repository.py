"""What may be handed in, and what results say."""

from __future__ import annotations

import json

import pytest

from firetrial_kit.objects import ObjectRef
from firetrial_runner.kinds.repository import (
    MAX_TEXT,
    Field,
    HandIn,
    Metric,
    Refused,
    Repository,
    Results,
    Split,
    findings,
    read,
    results,
)

SPLIT = Split("split.json", (Field("val_ratio", 0.05, 0.9), Field("val_seed", 0, 100, whole=True)))
METRIC = Metric("mae_mean", ("line",), "results.json")
TASK = Repository(
    ObjectRef("runs/x", "", 0, ""), ("model.py", "split.json"), (), ("python3",), METRIC, split=SPLIT
)


def test_targets_and_allowed_settings_pass() -> None:
    handed = HandIn("x", {"model.py": "1", "split.json": '{"val_ratio": 0.05, "val_seed": 100.0}'})
    assert list(findings(TASK, handed)) == []
    assert list(findings(TASK, HandIn("x", {"split.json": "{}"}))) == []


@pytest.mark.parametrize(
    "text",
    ['{"val_seed": 101}', '{"val_seed": 1.5}', '{"val_seed": true}', '{"val_seed": "1"}', '{"val_ratio": 0}',
     '{"val_ratio": NaN}', '{"val_seed": 1, "val_seed": 2}', '{"val_seed": 1e999}', '{"val_seed": "7"}',
     "\ufeff{}", '{"val_ratio": null}', '{"other": 1}', "[]", "", "[" * 100_000],
)  # fmt: skip
def test_a_setting_that_is_not_allowed_is_a_finding(text: str) -> None:
    assert len(list(findings(TASK, HandIn("x", {"split.json": text})))) == 1


@pytest.mark.parametrize("path", ["evaluate.py", "../model.py", "./model.py", "/model.py", "model.py/", ""])
def test_what_is_no_target_is_a_finding(path: str) -> None:
    (found,) = findings(TASK, HandIn("x", {path: ""}))
    assert "no target file" in found


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400), ({"files": {}}, 400), ({"files": []}, 400), ({"files": {"a": 1}}, 400),
        ({"idea": 1, "files": {"a": ""}}, 400), ({"files": {"a": "\ud800"}}, 400),
        ({"files": {"\ud800": ""}}, 400),
        ({"files": {"a": "x" * (MAX_TEXT + 1)}}, 413),
        ({"files": {str(n): "x" * MAX_TEXT for n in range(5)}}, 413),
    ],
)  # fmt: skip
def test_a_form_that_is_none_is_refused(body: dict[str, object], status: int) -> None:
    with pytest.raises(Refused) as refused:
        read(body)
    assert refused.value.status == status


def test_results_tell_the_metric_and_every_number() -> None:
    found = results(
        METRIC, b'{"line": {"means": {"mae_mean": 2, "r2": 0.5, "x": "y"}}, "flat": 1, "no": true}'
    )
    assert found == Results(2.0, {"line/mae_mean": 2.0, "line/r2": 0.5, "flat": 1.0})


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff", b"[]", b"{}", b'{"line": {"means": {"mae_mean": NaN}}}', b"[" * 100_000,
        b'{"line": {"means": {"mae_mean": 1e999}}}', b'{"line": {"means": {"mae_mean": 1.7e308}}}',
        b'{"line": {"means": {"mae_mean": ' + b"9" * 5000 + b"}}}",
        b'{"line": {"means": {"mae_mean": true}}}',
    ],
)  # fmt: skip
def test_what_tells_no_metric_says_why(data: bytes) -> None:
    found = results(METRIC, data)
    assert isinstance(found, str)
    assert found.startswith("results.json")


def test_names_of_numbers_are_few_and_can_be_kept() -> None:
    told = {"line": {"means": {"mae_mean": 1}}, "\ud800": 2, **{f"{n:0>150}": n for n in range(500)}}
    found = results(METRIC, json.dumps(told).encode())
    assert isinstance(found, Results)
    assert {"line/mae_mean": 1.0, "?": 2.0}.items() <= found.metrics.items()
    assert sum(map(len, found.metrics)) <= 2000
