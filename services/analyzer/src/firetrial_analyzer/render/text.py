"""Text of strangers, made safe to show, and figures, made short to read."""

import unicodedata
from datetime import datetime

from firetrial_analyzer.contamination import Cell
from firetrial_analyzer.scores import AgentMean, Mean
from firetrial_analyzer.variance import Interval

UNDEFINED = "undefined"
UNKNOWN = "unknown"
# A claim is a sentence; what is longer than a page of them is an attack or a mistake.
MAX_TEXT = 2000
# Control, format, surrogate, private, unassigned and line-separating characters hide or reorder text.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def shown(text: str, limit: int = MAX_TEXT) -> str:
    """`text` on one line, unseen characters spelled out, cut to `limit` characters with a mark."""
    cut = text[:limit]
    spaced = " ".join(cut.replace("\t", " ").replace("\r\n", "\n").split("\n"))
    visible = "".join(
        char if unicodedata.category(char) not in _UNSEEN else _spelled(char) for char in spaced
    )
    plain = " ".join(visible.split())
    return f"{plain} … [cut: {len(text):,} characters in all]" if len(text) > limit else plain


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def points(score: float | None) -> str:
    """A score from 0 to 1 as points of 100."""
    return UNDEFINED if score is None else f"{100 * score:.1f}"


def percent(share: float | None) -> str:
    """A share from 0 to 1."""
    return UNDEFINED if share is None else f"{100 * share:.0f} %"


def mean_and_spread(mean: Mean | AgentMean) -> str:
    """Mean ± std of scores from 0 to 1, as points of 100; the mean alone where there is but one value."""
    if mean.mean is None or mean.spread is None:
        return points(mean.mean)
    return f"{points(mean.mean)} ± {points(mean.spread)}"


def values(cell: Cell) -> str:
    """Mean ± std of a cell that may be empty, as points of 100."""
    if cell.mean is None:
        return "–"
    return f"{points(cell.mean)} ± {points(cell.std)}" if cell.n > 1 else points(cell.mean)


def interval(value: Interval | None, least: float = 0.0) -> str:
    """Ends as points of 100, within what a score (or with `least` -1 a difference) can be."""
    if value is None:
        return UNDEFINED
    return f"{points(max(value.low, least))} to {points(min(value.high, 1.0))}"


def difference(value: float | None) -> str:
    """A difference of scores, with its sign, as points of 100."""
    return UNDEFINED if value is None else f"{100 * value:+.1f}"


def probability(value: float | None) -> str:
    if value is None:
        return UNDEFINED
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def seconds(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def size(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value / 2**20:,.0f} MiB"


def usd(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if 0 < value < 0.0001:
        return "< $0.0001"
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def when(value: datetime | None) -> str:
    return UNKNOWN if value is None else f"{value:%Y-%m-%d %H:%M} UTC"
