"""Pieces of PromQL that many panels are made of."""

from __future__ import annotations

RANGE = "$__rate_interval"


def per_second(counter: str, by: str = "") -> str:
    """How fast `counter` (a selector) rises, summed `by` labels."""
    return f"{_sum(by)} (rate({counter}[{RANGE}]))"


def in_window(counter: str, window: str, by: str = "") -> str:
    """By how much `counter` has risen in `window`, the first steps of new series among it."""
    return f"{_sum(by)} (({counter} unless {counter} offset {window}) or increase({counter}[{window}]))"


def quantile(share: float, histogram: str, by: str = "", labels: str = "", window: str = RANGE) -> str:
    """A quantile of `histogram` (a name) where `labels` select."""
    by = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({by}) (rate({histogram}_bucket{{{labels}}}[{window}])))"


def share(part: str, whole: str) -> str:
    """Of what there is; nothing where there is nothing."""
    return f"{part} / ({whole} > 0)"


def or_zero(expr: str) -> str:
    """0 where nothing has happened."""
    return f"({expr}) or vector(0)"


def or_none(expr: str, label: str, called: str = "none") -> str:
    """One series of 0, of which `label` says so, where nothing has happened."""
    return f'({expr}) or label_replace(vector(0) unless on () ({expr}), "{label}", "{called}", "", "")'


def _sum(by: str) -> str:
    return f"sum by ({by})" if by else "sum"
