"""The table of all metrics in docs/metrics.md, from the classes that make them.

python tools/metrics_table.py            writes it
python tools/metrics_table.py --check    exits 1 where it is not what the code says

Whatever counts takes the registry that it registers with as its first argument; that is how it is found.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import MagicMock

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
HEAD = "| metric | type | labels | told by | |\n| --- | --- | --- | --- | --- |\n"
TOLD_BY = {
    "firetrial_kit": "every service",
    "firetrial_parser": "parser",
    "firetrial_runner": "runner",
    "firetrial_judge": "judge",
    "firetrial_analyzer": "analyzer",
    "firetrial_operate": "operate",
}


@dataclass(frozen=True, slots=True, order=True)
class Metric:
    """A metric as it is scraped; what is inside its class has the labels' names."""

    name: str
    type: str
    labels: tuple[str, ...]
    told_by: str
    help: str

    @property
    def row(self) -> str:
        return f"| `{self.name}` | {self.type} | {', '.join(self.labels)} | {self.told_by} | {self.help} |"


def every() -> list[Metric]:
    """All of them, by name."""
    found = {metric.name: metric for made in makers() for metric in _made_by(made)}
    return [found[name] for name in sorted(found)]


def makers() -> Iterator[type]:
    """The classes of our packages that take a registry first."""
    for package in TOLD_BY:
        root = importlib.import_module(package)
        for module in pkgutil.walk_packages(root.__path__, f"{package}."):
            if module.name.endswith("__main__") or ".provided." in module.name:
                continue
            for _, one in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if one.__module__ == module.name and _takes_registry(one):
                    yield one


def _takes_registry(one: type) -> bool:
    parameters = list(inspect.signature(one.__init__).parameters.values())[1:2]  # type: ignore[misc]
    return bool(parameters) and parameters[0].annotation == "CollectorRegistry" and not _holds(one)


def _holds(one: type) -> bool:
    """Whether it is a value that only carries a registry."""
    return hasattr(one, "__dataclass_fields__")


def _made_by(one: type) -> Iterator[Metric]:
    registry = CollectorRegistry()
    rest = list(inspect.signature(one).parameters.values())[1:]
    # Nothing is counted here: whatever else a class is made of only has to be there.
    one(registry, *(MagicMock(name=each.name) for each in rest if each.default is each.empty))
    told_by = TOLD_BY[one.__module__.partition(".")[0]]
    for collector in registry._collector_to_names:  # noqa: SLF001 -- there is no other way to ask
        for family in collector.describe():  # type: ignore[attr-defined]
            labels = collector._labelnames if isinstance(collector, MetricWrapperBase) else family._labelnames  # noqa: SLF001
            name = f"{family.name}_total" if family.type == "counter" else family.name
            yield Metric(name, family.type, tuple(labels), told_by, family.documentation)


def written(text: str) -> str:
    """The document with its table anew."""
    before, _, rest = text.partition(HEAD)
    after = rest[len("".join(line for line in rest.splitlines(True) if line.startswith("| "))) :]
    return before + HEAD + "".join(f"{metric.row}\n" for metric in every()) + after


def main() -> None:
    text = DOCUMENT.read_text()
    if "--check" not in sys.argv:
        DOCUMENT.write_text(written(text))
    elif text != written(text):
        sys.exit("docs/metrics.md is not what the code says: make metrics-table")


if __name__ == "__main__":
    main()
