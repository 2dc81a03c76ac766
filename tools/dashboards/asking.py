"""What a dashboard's queries give, asked of Prometheus as Grafana asks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx


class QueryError(Exception):
    """What Prometheus said of a query."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time that is shown, in Unix seconds; seconds between points, and between scrapes."""

    start: float
    end: float
    step: float
    scrape: float

    def substituted(self, expr: str) -> str:
        """`expr` with Grafana's own variables filled in, and ours at All."""
        rate = max(self.step + self.scrape, 4 * self.scrape)
        expr = expr.replace("$__rate_interval", f"{rate:.0f}s")
        expr = expr.replace("$__range", f"{self.end - self.start:.0f}s")
        return re.sub(r"\$(?:pool|service|agent|model)\b", ".*", expr)


@dataclass(frozen=True, slots=True)
class Asking:
    """A Prometheus, and the time that is looked at."""

    url: str
    window: Window

    def series(self, target: dict[str, Any]) -> list[dict[str, Any]]:
        """What a panel's target gives. Raises QueryError for one that is not understood."""
        expr = self.window.substituted(target["expr"])
        if target["instant"]:
            return self._ask("query", query=expr, time=self.window.end)
        between = {"start": self.window.start, "end": self.window.end, "step": self.window.step}
        return self._ask("query_range", query=expr, **between)

    def answered(self, panels: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The panels with what their targets give as `series`."""
        for panel in panels:
            targets = [target | {"series": self.series(target)} for target in panel.get("targets", ())]
            yield panel | {"targets": targets}

    def _ask(self, what: str, **parameters: str | float) -> list[dict[str, Any]]:
        answer = httpx.get(f"{self.url}/api/v1/{what}", params=parameters, timeout=30).json()
        if answer["status"] != "success":
            raise QueryError(f"{answer['error']}: {parameters['query']}")
        return list(answer["data"]["result"])
