"""The report's plots, in the order of the page. What cannot be drawn for want of figures is left out."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from firetrial_analyzer.distributions import Distribution
from firetrial_analyzer.render import text
from firetrial_analyzer.render.drawing import (
    INK,
    MUTED,
    PAGE,
    SERIES,
    SHAPES,
    Plot,
    name_rows,
    plot,
    row_height,
)
from firetrial_analyzer.render.words import agent_names, named
from firetrial_analyzer.render.words import measured as name_of
from firetrial_analyzer.report import AgentReport, Report

# Axes whose values lie further apart than this are logarithmic.
_LOG_FROM = 30
# Percent of a bar that a number needs.
_MIN_LABELLED = 8.5


def scores(report: Report) -> Plot | None:
    """The score of every run, and each agent's mean with its interval."""
    names = agent_names([agent.agent for agent in report.agents])
    if not any(point.score is not None for agent in report.agents for point in agent.points):
        return None

    def draw(axes: Axes) -> None:
        for row, agent in enumerate(report.agents):
            known = [point for point in agent.points if point.score is not None]
            _dots(axes, row, [(100 * (point.score or 0.0), point.failed) for point in known])
            mean, found = agent.score.main.mean, agent.variation and agent.variation.interval
            if mean is not None:
                bounds = (100 * max(found.low, 0), 100 * min(found.high, 1)) if found else None
                _estimate(axes, row + 0.22, 100 * mean, bounds)
        axes.set_xlim(-3, 103)
        axes.set_xlabel(f"{name_of(report.measure)}, points of 100")
        name_rows(axes, names)

    told = (
        f"{name} {text.points(agent.score.main.mean)}, 95 % interval "
        f"{text.interval(agent.variation.interval if agent.variation else None)}"
        for name, agent in zip(names, report.agents, strict=True)
    )
    caption = (
        f"{name_of(report.measure)} of each agent. A dot is a run, hollow where the agent failed and scores "
        "0; below, the mean with its 95 % interval."
    )
    return plot("f1", (caption, f"{'; '.join(told)}."), row_height(len(names)), names, draw)


def wall_times(report: Report) -> Plot | None:
    """Wall time of every run, and each agent's mean."""
    names = agent_names([agent.agent for agent in report.agents])
    known = [[p for p in agent.points if p.wall_seconds is not None] for agent in report.agents]
    seconds = [point.wall_seconds or 0.0 for row in known for point in row]
    if not seconds:
        return None
    unit, word = _unit(max(seconds))

    def draw(axes: Axes) -> None:
        for row, agent in enumerate(report.agents):
            _dots(axes, row, [((point.wall_seconds or 0.0) / unit, point.failed) for point in known[row]])
            if mean := _mean_seconds(agent):
                _estimate(axes, row + 0.22, mean / unit, None)
        _scale(axes, [value / unit for value in seconds], f"wall time, {word}")
        name_rows(axes, names)

    means = map(_mean_seconds, report.agents)
    told = (f"{name} {text.seconds(mean)}" for name, mean in zip(names, means, strict=True))
    caption = "Wall time of each agent’s runs that count; below, its mean."
    return plot("time", (caption, f"Means: {'; '.join(told)}."), row_height(len(names)), names, draw)


def against_cost(report: Report) -> Plot | None:
    """Mean score against mean cost, with the front of those that nobody beats on both."""
    offers = {placed.offer.agent: placed.offer.usd for placed in report.front.agents}
    line = [(offer.usd or 0.0, 100 * (offer.score or 0.0)) for offer in report.front.line]
    unknown = report.front.unknown
    left_out = f" {unknown} not shown for want of a price or score." if unknown else ""
    said = (
        f"Mean {name_of(report.measure)} against mean cost. No agent is both better and cheaper than one on "
        f"the line.{left_out}"
    )
    costs = [offers.get(agent.agent) for agent in report.agents]
    return _numbered("f1-cost", (said, "USD a run"), report.agents, costs, line)


def against_time(report: Report) -> Plot | None:
    """Mean score against mean wall time."""
    seconds = list(map(_mean_seconds, report.agents))
    unit, word = _unit(max((value for value in seconds if value is not None), default=0.0))
    times = [None if value is None else value / unit for value in seconds]
    said = f"Mean {name_of(report.measure)} against mean wall time."
    return _numbered("f1-time", (said, f"wall time a run, {word}"), report.agents, times, ())


def stages(report: Report) -> Plot | None:
    """Of each agent's missed claims whose cause is settled, the share of each stage."""
    if report.errors is None:
        return None
    rows = [found for found in _by_rank(report, report.errors.stages.agents) if found.total]
    if not rows:
        return None
    names = agent_names([found.agent for found in rows])
    order = [share.id for share in rows[0].shares]

    def draw(axes: Axes) -> None:
        for row, found in enumerate(rows):
            _stack(axes, row, [share.share or 0.0 for share in found.shares])
        for place, id_ in enumerate(order):
            axes.barh([-9], [0], color=SERIES[place % len(SERIES)], label=named(id_))
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of missed claims with a settled cause")
        name_rows(axes, names)
        axes.legend(
            loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2, frameon=False, fontsize=10, handlelength=1
        )

    caption = "Where missed claims were lost: the stage of research at which the run went wrong."
    return plot("stages", (caption, _shares_in_words(names, rows)), row_height(len(names)) + 0.7, names, draw)


def kinds(report: Report) -> Plot | None:
    """Of each agent's false claims, the share of each kind with its interval."""
    if report.errors is None:
        return None
    rows = [found for found in _by_rank(report, report.errors.kinds.agents) if found.total]
    if not rows:
        return None
    names = agent_names([found.agent for found in rows])

    def draw(axes: Axes) -> None:
        for place, share in enumerate(rows[0].shares):
            mine = [found.shares[place] for found in rows]
            points = [
                (row - 0.1 + 0.15 * place, one) for row, one in enumerate(mine) if one.share is not None
            ]
            colour = SERIES[place % len(SERIES)]
            for y, one in points:
                if one.interval:
                    axes.plot(
                        [100 * one.interval.low, 100 * one.interval.high], [y, y], color=colour, linewidth=1.4
                    )
            axes.plot(
                [100 * (one.share or 0.0) for _, one in points], [y for y, _ in points], linestyle="none",
                marker=SHAPES[place % len(SHAPES)], markersize=5.5, color=colour, markeredgewidth=0,
                label=named(share.id),
            )  # fmt: skip
        axes.set_xlim(-3, 103)
        axes.set_xlabel("% of false claims")
        name_rows(axes, names)
        axes.set_ylim(len(names) - 0.4, -0.65)
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            ncols=2,
            frameon=False,
            fontsize=10,
            handletextpad=0.3,
        )

    caption = "Kinds of false claims, as shares of each agent’s false claims with 95 % intervals."
    return plot(
        "kinds", (caption, _shares_in_words(names, rows)), row_height(len(names), 0.82) + 0.5, names, draw
    )


def _numbered(
    name: str,
    told: tuple[str, str],
    agents: Sequence[AgentReport],
    values: Sequence[float | None],
    line: Sequence[tuple[float, float]],
) -> Plot | None:
    """Mean score against some mean; an agent is a circle with its place in the table of agents.

    `told` are what is set against what, and the name of the axis.
    """
    said, label = told
    measure = name_of(agents[0].score.measure) if agents else ""
    names = agent_names([agent.agent for agent in agents])
    known = [
        (place, value, 100 * agent.score.main.mean)
        for place, (agent, value) in enumerate(zip(agents, values, strict=True))
        if value is not None and agent.score.main.mean is not None
    ]
    if len(known) < 2:
        return None

    def draw(axes: Axes) -> None:
        x, y = [x for x, _ in line], [y for _, y in line]
        axes.plot(x, y, color=MUTED, linewidth=1.2, drawstyle="steps-post", zorder=1)
        for place, value, score in known:
            _circle(axes, place + 1, (value, score), filled=not line or (value, score) in line)
        _scale(axes, [value for _, value, _ in known], label)
        axes.set_ylim(-4, 104)
        axes.set_ylabel(f"{measure}, points of 100")
        axes.grid(axis="y", linewidth=0.6)
        axes.tick_params(axis="y", length=0)

    words = "; ".join(f"{names[place]} {score:.1f} at {value:.3g}" for place, value, score in known)
    legend = ", ".join(f"{place + 1} {names[place]}" for place, _, _ in known)
    return plot(name, (f"{said} {legend}.", f"{measure} at {label}: {words}."), 3.5, names, draw)


def _circle(axes: Axes, number: int, at: tuple[float, float], *, filled: bool) -> None:
    axes.scatter(
        *at, s=150, color=SERIES[0] if filled else PAGE, edgecolors=SERIES[0] if filled else MUTED,
        linewidths=1.2, zorder=2, clip_on=False,
    )  # fmt: skip
    axes.annotate(
        str(number), at, ha="center", va="center_baseline", fontsize=9, fontweight="bold",
        color=PAGE if filled else INK, zorder=3,
    )  # fmt: skip


def _dots(axes: Axes, row: int, values: Sequence[tuple[float, bool]]) -> None:
    """Runs with equal values lie side by side instead of hiding each other."""
    for hollow in (False, True):
        mine = [
            (value, row - 0.06 + 0.07 * ((order % 3) - 1))
            for order, (value, failed) in enumerate(values)
            if failed is hollow
        ]
        if mine:
            axes.plot(
                *zip(*mine, strict=True), linestyle="none", marker="o", markersize=4.2,
                color=PAGE if hollow else SERIES[0], markeredgecolor=SERIES[0],
                markeredgewidth=1.0 if hollow else 0, alpha=0.9 if hollow else 0.45, clip_on=False,
            )  # fmt: skip


def _estimate(axes: Axes, row: float, mean: float, bounds: tuple[float, float] | None) -> None:
    if bounds:
        axes.plot(bounds, [row, row], color=INK, linewidth=1.5, solid_capstyle="butt")
    axes.plot([mean], [row], marker="D", markersize=5, color=INK, markeredgewidth=0, clip_on=False)


def _stack(axes: Axes, row: int, parts: Sequence[float]) -> None:
    """Parts of 100 side by side; those that have room for it say how many."""
    left, middle = 0.0, row + 0.02
    for place, part in enumerate(100 * part for part in parts):
        colour = SERIES[place % len(SERIES)]
        axes.barh([middle], [part], left=[left], height=0.36, color=colour, edgecolor=PAGE, linewidth=1)
        if part >= _MIN_LABELLED:
            axes.text(
                left + part / 2, middle, f"{part:.0f}", ha="center", va="center_baseline", fontsize=9,
                color=PAGE, fontweight="bold",
            )  # fmt: skip
        left += part


def _scale(axes: Axes, values: Sequence[float], label: str) -> None:
    """From 0, or logarithmic where the values lie far apart."""
    most = max(values)
    if min(values) > 0 and most / min(values) > _LOG_FROM:
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 1.3, most * 1.3)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=7))
        axes.xaxis.set_minor_locator(NullLocator())
        label += ", logarithmic"
    else:
        axes.set_xlim(0, most * 1.07 or 1)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(label)


def _unit(seconds: float) -> tuple[float, str]:
    """The unit that times up to so many seconds are read in, and its name."""
    if seconds >= 2 * 3600:
        return 3600.0, "hours"
    return (60.0, "minutes") if seconds >= 2 * 60 else (1.0, "seconds")


def _mean_seconds(agent: AgentReport) -> float | None:
    return agent.cost.per_run.wall_seconds.mean if agent.cost else None


def _by_rank(report: Report, found: Sequence[Distribution]) -> list[Distribution]:
    rank = {agent.agent: place for place, agent in enumerate(report.agents)}
    return sorted(found, key=lambda one: (rank.get(one.agent, len(rank)), one.agent))


def _shares_in_words(names: Sequence[str], rows: Sequence[Distribution]) -> str:
    def told(found: Distribution) -> str:
        return ", ".join(f"{named(one.id)} {text.percent(one.share)}" for one in found.shares if one.count)

    return f"{'; '.join(f'{name}: {told(found)}' for name, found in zip(names, rows, strict=True))}."
