"""The report's plots, in the order of the page. What cannot be drawn for want of figures is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from firetrial_analyzer.distributions import Distribution
from firetrial_analyzer.render import text
from firetrial_analyzer.render.drawing import (
    INK,
    MUTED,
    NAME_LIMIT,
    PAGE,
    SERIES,
    SHAPES,
    Plot,
    name_rows,
    plot,
    row_height,
)
from firetrial_analyzer.render.words import named
from firetrial_analyzer.report import AgentReport, Report

# Axes whose values lie further apart than this are logarithmic.
_LOG_FROM = 30
_MIN_LABELLED = 0.085


def agent_names(agents: Sequence[str]) -> list[str]:
    """Each agent's name, with its hash only where two would be called the same."""
    short = [agent.partition("@")[0] for agent in agents]
    plain = [name if short.count(name) == 1 else agent for name, agent in zip(short, agents, strict=True)]
    safe = [text.shown(name) for name in plain]
    return [name if len(name) <= NAME_LIMIT else f"{name[: NAME_LIMIT - 1]}…" for name in safe]


def scores(report: Report) -> Plot | None:
    """F1 of every run, and each agent's mean with its interval."""
    names = agent_names([agent.agent for agent in report.agents])
    if not any(point.f1 is not None for agent in report.agents for point in agent.points):
        return None

    def draw(axes: Axes) -> None:
        for row, agent in enumerate(report.agents):
            _dots(
                axes, row, [(100 * point.f1, point.failed) for point in agent.points if point.f1 is not None]
            )
            mean, found = agent.score.f1.mean, agent.variation and agent.variation.interval
            if mean is not None:
                bounds = (100 * max(found.low, 0), 100 * min(found.high, 1)) if found else None
                _estimate(axes, row + 0.22, 100 * mean, bounds)
        axes.set_xlim(-3, 103)
        axes.set_xlabel("F1, points of 100")
        name_rows(axes, names)

    told = (
        f"{name} {text.points(agent.score.f1.mean)}, 95 % interval "
        f"{text.interval(agent.variation.interval if agent.variation else None)}"
        for name, agent in zip(names, report.agents, strict=True)
    )
    caption = (
        "F1 of each agent. A dot is a run, hollow where the agent failed and scores 0; below, the mean with its "
        "95 % interval."
    )
    return plot("f1", caption, f"{'; '.join(told)}.", row_height(len(names)), names, draw)


def wall_times(report: Report) -> Plot | None:
    """Wall time of every run, and each agent's mean."""
    names = agent_names([agent.agent for agent in report.agents])
    values = [
        [(p.wall_seconds, p.failed) for p in agent.points if p.wall_seconds is not None]
        for agent in report.agents
    ]
    if not any(values):
        return None
    log = _is_wide([seconds for row in values for seconds, _ in row])

    def draw(axes: Axes) -> None:
        for row, agent in enumerate(report.agents):
            _dots(axes, row, values[row])
            mean = agent.cost.per_run.wall_seconds.mean if agent.cost else None
            if mean is not None:
                _estimate(axes, row + 0.22, mean, None)
        _scale(axes, log, lambda value: text.seconds(value))
        axes.set_xlabel(f"wall time{', logarithmic' if log else ''}")
        name_rows(axes, names)

    told = (
        f"{name} {text.seconds(agent.cost.per_run.wall_seconds.mean if agent.cost else None)}"
        for name, agent in zip(names, report.agents, strict=True)
    )
    caption = "Wall time of each agent’s runs that count; below, its mean."
    return plot("time", caption, f"Means: {'; '.join(told)}.", row_height(len(names)), names, draw)


def against_cost(report: Report) -> Plot | None:
    """Mean F1 against mean cost, with the front of those that nobody beats on both."""
    offers = {placed.offer.agent: placed.offer.usd for placed in report.front.agents}
    line = [(offer.usd or 0.0, 100 * (offer.score or 0.0)) for offer in report.front.line]
    unknown = report.front.unknown
    left_out = f" {unknown} not shown for want of a price or score." if unknown else ""
    said = f"Mean F1 against mean cost. No agent is both better and cheaper than one on the line.{left_out}"
    costs = [offers.get(agent.agent) for agent in report.agents]
    return _numbered("f1-cost", said, "USD a run", report.agents, costs, text.usd, line)


def against_time(report: Report) -> Plot | None:
    """Mean F1 against mean wall time."""
    seconds = [agent.cost.per_run.wall_seconds.mean if agent.cost else None for agent in report.agents]
    said = "Mean F1 against mean wall time."
    return _numbered("f1-time", said, "wall time a run", report.agents, seconds, text.seconds, ())


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
    return plot("stages", caption, _shares_in_words(names, rows), row_height(len(names)) + 0.7, names, draw)


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
                (row + 0.02 + 0.15 * place, one) for row, one in enumerate(mine) if one.share is not None
            ]
            colour = SERIES[place % len(SERIES)]
            for y, one in points:
                if one.interval:
                    axes.plot(
                        [100 * one.interval.low, 100 * one.interval.high], [y, y], color=colour, linewidth=1.4
                    )
            axes.plot(
                [100 * (one.share or 0.0) for _, one in points], [y for y, _ in points], linestyle="none",
                marker=SHAPES[place % len(SHAPES)], markersize=5.5, color=colour, markeredgewidth=0, label=named(share.id),
            )  # fmt: skip
        axes.set_xlim(-3, 103)
        axes.set_xlabel("% of false claims")
        name_rows(axes, names)
        axes.set_ylim(len(names) - 0.25, -0.65)
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
        "kinds", caption, _shares_in_words(names, rows), row_height(len(names), 0.82) + 0.5, names, draw
    )


def _numbered(
    name: str,
    said: str,
    label: str,
    agents: Sequence[AgentReport],
    values: Sequence[float | None],
    figure: Callable[[float], str],
    line: Sequence[tuple[float, float]],
) -> Plot | None:
    """Mean F1 against some mean; an agent is a circle with its place in the table of agents."""
    names = agent_names([agent.agent for agent in agents])
    known = [
        (place, value, 100 * agent.score.f1.mean)
        for place, (agent, value) in enumerate(zip(agents, values, strict=True))
        if value is not None and agent.score.f1.mean is not None
    ]
    if len(known) < 2:
        return None
    log = _is_wide([value for _, value, _ in known])

    def draw(axes: Axes) -> None:
        axes.plot(
            *zip(*line, strict=True) if line else ((), ()),
            color=MUTED,
            linewidth=1.2,
            drawstyle="steps-post",
            zorder=1,
        )
        on_line = set(line)
        for place, x, y in known:
            front = not line or (x, y) in on_line
            axes.scatter(
                [x],
                [y],
                s=150,
                color=SERIES[0] if front else PAGE,
                edgecolors=SERIES[0] if front else MUTED,
                linewidths=1.2,
                zorder=2,
            )
            axes.annotate(
                str(place + 1), (x, y), ha="center", va="center_baseline", fontsize=9, fontweight="bold",
                color=PAGE if front else INK, zorder=3,
            )  # fmt: skip
        _scale(axes, log, figure)
        axes.set_ylim(-4, 104)
        axes.set_xlabel(f"{label}{', logarithmic' if log else ''}")
        axes.set_ylabel("F1, points of 100")
        axes.grid(axis="y", linewidth=0.6)
        axes.tick_params(axis="y", length=0)

    told = "; ".join(f"{names[place]} {score:.1f} for {figure(value)}" for place, value, score in known)
    legend = ", ".join(f"{place + 1} {names[place]}" for place, _, _ in known)
    drawn = plot(name, said, f"{told}.", 3.5, names, draw)
    return Plot(drawn.svg, f"{said} {legend}.")


def _dots(axes: Axes, row: int, values: Sequence[tuple[float, bool]]) -> None:
    """Runs with equal values lie side by side instead of hiding each other."""
    for hollow in (False, True):
        mine = [
            (value, row - 0.06 + 0.07 * ((order % 3) - 1))
            for order, (value, failed) in enumerate(values)
            if failed is hollow
        ]
        axes.plot(
            [value for value, _ in mine],
            [height for _, height in mine],
            linestyle="none",
            marker="o",
            markersize=4.2,
            color=PAGE if hollow else SERIES[0],
            markeredgecolor=SERIES[0],
            markeredgewidth=1.0 if hollow else 0,
            alpha=0.9 if hollow else 0.45,
            clip_on=False,
        )


def _estimate(axes: Axes, row: float, mean: float, bounds: tuple[float, float] | None) -> None:
    if bounds:
        axes.plot(bounds, [row, row], color=INK, linewidth=1.5, solid_capstyle="butt")
    axes.plot([mean], [row], marker="D", markersize=5, color=INK, markeredgewidth=0, clip_on=False)


def _stack(axes: Axes, row: int, parts: Sequence[float]) -> None:
    left = 0.0
    for place, part in enumerate(parts):
        if not part:
            continue
        axes.barh(
            [row + 0.02],
            [100 * part],
            left=[left],
            height=0.36,
            color=SERIES[place % len(SERIES)],
            edgecolor=PAGE,
            linewidth=1,
        )
        if part >= _MIN_LABELLED:
            axes.text(
                left + 50 * part,
                row + 0.02,
                f"{100 * part:.0f}",
                ha="center",
                va="center_baseline",
                fontsize=9,
                color=PAGE,
                fontweight="bold",
            )
        left += 100 * part


def _scale(axes: Axes, log: bool, figure: Callable[[float], str]) -> None:
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    else:
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: "0" if value == 0 else figure(value)))


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > _LOG_FROM


def _by_rank(report: Report, found: Sequence[Distribution]) -> list[Distribution]:
    rank = {agent.agent: place for place, agent in enumerate(report.agents)}
    return sorted(found, key=lambda one: (rank.get(one.agent, len(rank)), one.agent))


def _shares_in_words(names: Sequence[str], rows: Sequence[Distribution]) -> str:
    told = (
        f"{name}: {', '.join(f'{named(share.id)} {text.percent(share.share)}' for share in found.shares if share.count)}"
        for name, found in zip(names, rows, strict=True)
    )
    return f"{'; '.join(told)}."
