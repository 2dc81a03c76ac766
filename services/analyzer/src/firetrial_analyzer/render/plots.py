"""The report's plots, drawn by matplotlib and made fit to stand inside the page.

Every mark takes its colour from the page's own style sheet, so one drawing serves light and dark; agents
differ by shape as well as by colour. Same report, same bytes.
"""

import io
import math
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.render.text import seconds, shown
from firetrial_analyzer.render.text import usd as usd_text
from firetrial_analyzer.report import AgentReport, Report
from firetrial_analyzer.scores import AgentMean, Mean

# Colours that occur nowhere else stand for the style sheet's variables.
_INK, _MUTED, _LINE, _PAGE = "#010101", "#020202", "#030303", "#040404"
_SERIES = tuple(f"#05050{n}" for n in range(1, 8))
_VARIABLES = {_INK: "var(--ink)", _MUTED: "var(--muted)", _LINE: "var(--line)", _PAGE: "var(--page)"} | {
    colour: f"var(--series-{n})" for n, colour in enumerate(_SERIES, start=1)
}
_SHAPES = "osD^vPX"
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _MUTED,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "grid.color": _LINE,
    "axes.axisbelow": True,
}
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
# matplotlib keeps its style in process-wide state.
_DRAWING = threading.Lock()
_WIDTH = 5.4
_NAME_LIMIT = 40


@dataclass(frozen=True, slots=True)
class Plot:
    """An inline SVG, labelled in words for those who cannot see it, and what it shows in one line."""

    svg: str
    caption: str
    tall: bool = False


def plots(report: Report) -> tuple[Plot, ...]:
    """Score, score against wall time, wall time, score against cost; those that have something to show."""
    names = _names(report.agents)
    drawn = [
        _f1(report, names),
        _score_against_time(report, names),
        _wall_time(report, names),
        _score_against_cost(report, names),
    ]
    return tuple(plot for plot in drawn if plot is not None)


def _f1(report: Report, names: Sequence[str]) -> Plot | None:
    rows = [_scores(agent, report) for agent in report.agents]
    if not any(rows):
        return None

    def draw(axes: Axes) -> None:
        for row, agent in enumerate(report.agents):
            _dots(axes, row, [(100 * score, hollow) for score, hollow in rows[row]])
            _mean_mark(axes, row, agent.score.f1, scale=100, most=100)
        axes.set_xlim(-3, 103)
        axes.set_xlabel("F1, points of 100")
        _name_rows(axes, names)

    caption = (
        "F1 of each agent. A dot is a run, hollow where the agent failed and scores 0; the bar is mean ± std."
    )
    words = _in_words("F1 of each run.", names, rows, lambda f1: f"{100 * f1:.1f}")
    return Plot(_drawn("f1", draw, _height(names), words, names), caption)


def _wall_time(report: Report, names: Sequence[str]) -> Plot | None:
    rows = [_times(agent, report) for agent in report.agents]
    if not any(rows):
        return None

    def draw(axes: Axes) -> None:
        for row, agent in enumerate(report.agents):
            _dots(axes, row, rows[row])
            if agent.cost:
                _mean_mark(axes, row, agent.cost.per_run.wall_seconds)
        axes.set_xlim(left=0)
        _time_axis(axes)
        _name_rows(axes, names)

    caption = "Wall time of each agent’s runs that count. The bar is mean ± std."
    words = _in_words("Wall time of each run.", names, rows, seconds)
    return Plot(_drawn("time", draw, _height(names), words, names), caption)


def _score_against_time(report: Report, names: Sequence[str]) -> Plot | None:
    points = [
        [
            (run.usage.wall_seconds, 100 * f1)
            for run in _counted(agent, report)
            if run.usage.wall_seconds is not None and (f1 := run.score("f1")) is not None
        ]
        for agent in report.agents
    ]
    if not any(points):
        return None

    def draw(axes: Axes) -> None:
        for row, mine in enumerate(points):
            x, y = [x for x, _ in mine], [y for _, y in mine]
            label = _stand_in(row, names)
            axes.scatter(
                x, y, s=34, marker=_shape(row), color=_colour(row), alpha=0.85, linewidths=0, label=label
            )
        axes.set_xlim(left=0)
        axes.set_ylim(-4, 104)
        axes.set_ylabel("F1, points of 100")
        axes.grid(axis="y", linewidth=0.6)
        axes.tick_params(axis="y", length=0)
        _time_axis(axes)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1), frameon=False, fontsize=9)

    caption = "F1 of each run against its wall time."
    words = f"{caption} The values are those of the other two plots."
    return Plot(
        _drawn("f1-time", draw, min(2.2 * _height(names), 5 + 0.2 * len(names)), words, names),
        caption,
        tall=True,
    )


def _score_against_cost(report: Report, names: Sequence[str]) -> Plot | None:
    offers = {placed.offer.agent: placed.offer for placed in report.front.agents}
    known = [
        (row, offer.usd, 100 * offer.score)
        for row, agent in enumerate(report.agents)
        if (offer := offers.get(agent.agent)) and offer.usd is not None and offer.score is not None
    ]
    if len(known) < 2:
        return None
    line = [(offer.usd or 0.0, 100 * (offer.score or 0.0)) for offer in report.front.line]

    def draw(axes: Axes) -> None:
        x, y = [x for x, _ in line], [y for _, y in line]
        axes.plot(x, y, color=_MUTED, linewidth=1.2, drawstyle="steps-post", zorder=1)
        for row, usd, score in known:
            label = _stand_in(row, names)
            axes.scatter(
                [usd], [score], s=44, marker=_shape(row), color=_colour(row), linewidths=0, label=label
            )
        axes.set_xlim(left=0)
        axes.set_ylim(-4, 104)
        axes.set_xlabel("USD a run")
        axes.set_ylabel("F1, points of 100")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.grid(axis="y", linewidth=0.6)
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1), frameon=False, fontsize=9)

    unknown = report.front.unknown
    left_out = f" Not shown for want of a price or score: {unknown}." if unknown else ""
    caption = (
        f"Mean F1 against mean cost. No agent is both better and cheaper than one on the line.{left_out}"
    )
    told = "; ".join(f"{names[row]}: {score:.1f} for {usd_text(usd)}" for row, usd, score in known)
    height = 3.0 + 0.22 * len(known)
    return Plot(_drawn("f1-cost", draw, height, f"{caption} {told}.", names), caption)


def _counted(agent: AgentReport, report: Report) -> list[RunOutcome]:
    return [item.run for item in report.runs if item.run.agent == agent.agent and item.run.outcome.counts]


def _scores(agent: AgentReport, report: Report) -> list[tuple[float, bool]]:
    return [
        (f1, run.outcome is Outcome.AGENT_FAILED)
        for run in _counted(agent, report)
        if (f1 := run.score("f1")) is not None
    ]


def _times(agent: AgentReport, report: Report) -> list[tuple[float, bool]]:
    return [
        (run.usage.wall_seconds, run.outcome is Outcome.AGENT_FAILED)
        for run in _counted(agent, report)
        if run.usage.wall_seconds is not None
    ]


def _in_words(
    what: str,
    names: Sequence[str],
    rows: Sequence[Sequence[tuple[float, bool]]],
    figure: Callable[[float], str],
) -> str:
    told = (
        f"{name}: {', '.join(figure(value) for value, _ in values) or 'nothing'}"
        for name, values in zip(names, rows, strict=True)
    )
    return f"{what} {'; '.join(told)}."


def _dots(axes: Axes, row: int, values: Sequence[tuple[float, bool]]) -> None:
    for order, (value, hollow) in enumerate(values):
        # Runs with equal values lie side by side instead of hiding each other.
        lift = 0.08 * ((order % 3) - 1)
        axes.plot(
            [value],
            [row - 0.02 + lift],
            linestyle="none",
            marker=_shape(row),
            markersize=6,
            color=_PAGE if hollow else _colour(row),
            markeredgecolor=_colour(row),
            markeredgewidth=1.2 if hollow else 0,
            alpha=0.85,
            clip_on=False,
        )


def _mean_mark(
    axes: Axes, row: int, mean: Mean | AgentMean, *, scale: float = 1, most: float = math.inf
) -> None:
    """Below the dots; a single value is its own mean and gets none."""
    if mean.mean is None or mean.spread is None:
        return
    centre, std, below = scale * mean.mean, scale * mean.spread, row + 0.26
    low, high = max(centre - std, 0), min(centre + std, most)
    axes.plot([low, high], [below, below], color=_INK, linewidth=1.4, solid_capstyle="butt")
    axes.plot(
        [centre, centre], [below - 0.09, below + 0.09], color=_INK, linewidth=2.4, solid_capstyle="butt"
    )


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Names stand above their rows: beside them a long one would leave no room for the plot."""
    for row in range(len(names)):
        axes.text(0, row - 0.31, _stand_in(row, names), transform=axes.get_yaxis_transform(), fontsize=9.5)
    axes.set_ylim(len(names) - 0.5, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", linewidth=0.6)


def _time_axis(axes: Axes) -> None:
    axes.set_xlabel("wall time")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: "0" if value == 0 else seconds(value)))


def _stand_in(row: int, names: Sequence[str]) -> str:
    """Drawn in place of an agent's name and as long: matplotlib would read some names as mathematics."""
    return f"@{row}".ljust(len(names[row]), "n")


def _names(agents: Sequence[AgentReport]) -> list[str]:
    """Each agent's name, with its hash only where two would be called the same."""
    short = [agent.agent.partition("@")[0] for agent in agents]
    plain = [
        name if short.count(name) == 1 else agent.agent for name, agent in zip(short, agents, strict=True)
    ]
    safe = [shown(name) for name in plain]
    return [name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 1]}…" for name in safe]


def _shape(row: int) -> str:
    return _SHAPES[row % len(_SHAPES)]


def _colour(row: int) -> str:
    return _SERIES[row % len(_SERIES)]


def _height(names: Sequence[str]) -> float:
    return 0.65 + 0.7 * len(names)


def _drawn(name: str, draw: Callable[[Axes], None], height: float, words: str, names: Sequence[str]) -> str:
    with _DRAWING, rc_context(_STYLE | {"svg.hashsalt": f"firetrial-{name}"}):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(axis="x", length=0)
        draw(axes)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    true_names = {_stand_in(row, names): true for row, true in enumerate(names)}
    return _for_page(out.getvalue(), name, words, true_names)


def _for_page(svg: str, name: str, words: str, names: dict[str, str]) -> str:
    """Ids unique in the page, colours from the style sheet, true names for stand-ins.

    matplotlib's metadata names addresses, and its style element would reach the whole page: both go.
    """
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib wrote it a moment ago
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in (f"{_SVG}metadata", f"{_SVG}style")]:
            parent.remove(child)
    for element in root.iter():
        element.text = names.get(element.text or "", element.text)
        element.tag = element.tag.removeprefix(_SVG)
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK).replace("#", f"#{name}-"))
        for key, value in element.attrib.items():
            element.set(key, _rewritten(key, value, name))
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.set("role", "img")
    root.set("aria-label", words)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    return ET.tostring(root, encoding="unicode")


def _rewritten(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    for colour, variable in _VARIABLES.items():
        value = value.replace(colour, variable)
    return value.replace("url(#", f"url(#{name}-")
