"""All metrics of all distributions: documented as they are, and named and labelled as Prometheus has them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import metrics_table
from metrics_table import Metric

GROWS = {
    "run",
    "run_id",
    "run_key",
    "host",
    "task",
    "experiment",
    "token",
    "instance",
    "request_id",
    "subject",
}
UNITS = ("seconds", "bytes", "ratio")
EVERY = metrics_table.every()


def test_the_table_is_what_the_code_says() -> None:
    text = metrics_table.DOCUMENT.read_text()
    assert text == metrics_table.written(text), "make metrics-table"


def test_every_name_in_the_sources_is_made_by_a_class_that_was_found() -> None:
    """A metric that is made elsewhere would be missing in the table."""
    root = metrics_table.DOCUMENT.parents[1]
    names = {metric.name.removesuffix("_total") for metric in EVERY}
    packages = {f"firetrial_{name}" for name in ("parser", "runner", "judge", "analyzer", "kit", "operate")}
    for folder in (*root.glob("services/*/src"), root / "libs/kit/src", root / "libs/operate/src"):
        for path in folder.rglob("*.py"):
            written = set(re.findall(r'"(firetrial_[a-z_]+)"', path.read_text()))
            for name in written - packages - {"firetrial_client"}:
                whole = name.removesuffix("_total")
                assert whole in names or any(known.startswith(whole) for known in names), f"{path}: {name}"


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_names_and_labels_are_as_prometheus_has_them(metric: Metric) -> None:
    assert re.fullmatch(r"firetrial_[a-z][a-z_]*[a-z]", metric.name)
    assert not GROWS & set(metric.labels)
    assert not re.search(r"_(ms|milliseconds|minutes|kb|mb|mib|percent|dollars)(_|$)", metric.name)
    assert (metric.type == "counter") == metric.name.endswith("_total")
    if metric.type == "histogram":
        assert metric.name.rpartition("_")[2] in UNITS
    assert metric.help.endswith(".")


def test_no_two_metrics_have_one_family() -> None:
    """`x` and `x_total` are one to OpenMetrics."""
    families = [metric.name.removesuffix("_total") for metric in EVERY]
    assert len(set(families)) == len(families)
