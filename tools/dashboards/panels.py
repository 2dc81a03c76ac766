"""The kinds of panels there are, and how each looks, whatever it shows."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")

Colour = Literal["green", "yellow", "orange", "red", "blue", "text"]
Steps = tuple[tuple[float | None, Colour], ...]
"""From each value on, a colour; the first has no value and is that of all below the second."""

PLAIN: Steps = ((None, "text"),)
PER_SECOND, PER_MINUTE, PER_HOUR = "suffix:/s", "suffix:/min", "suffix:/h"
MOST_PROCESSES = 10
"""Of the processes, those that a panel shows: of hundreds of runners no line could be read."""
NONE_IS_WELL: Steps = ((None, "green"), (1, "red"))
FEW_ARE_WELL: Steps = ((None, "green"), (1, "yellow"))


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL, and how its series are called: a text with {{label}}."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A builder, and what is told of every panel; `alerts` are those that go by what it shows, `page` is the
    dashboard that has more of it.
    """

    builder: Any
    title: str
    told: str
    width: int
    height: int
    alerts: tuple[str, ...] = ()
    page: str = ""

    def placed(self, page: str, x: int, y: int) -> Any:
        links = [
            dashboard.DashboardLink(f"Runbook: {alert}")
            .type(models.DashboardLinkType.LINK)
            .url(f"${{runbooks}}/{alert}.md")
            .target_blank(True)
            for alert in self.alerts
        ]
        if self.page:
            link = dashboard.DashboardLink(f"Dashboard: {self.page}").type(models.DashboardLinkType.LINK)
            links.append(link.url(f"/d/firetrial-{self.page}").keep_time(True))
        return (
            self.builder.id(panel_id(page, self.title))
            .title(self.title)
            .description(self.told)
            .datasource(SOURCE)
            .links(links)
            .grid_pos(models.GridPos(h=self.height, w=self.width, x=x, y=y))
        )


def panel_id(page: str, title: str) -> int:
    """The same for as long as page and title are, wherever the panel stands."""
    return zlib.crc32(f"{page}/{title}".encode()) % 1_000_000 + 1


def stat_of(
    title: str,
    expr: str,
    told: str,
    *,
    unit: str = "short",
    steps: Steps = PLAIN,
    alerts: tuple[str, ...] = (),
    decimals: int | None = None,
    words: Mapping[int, str] | None = None,
    page: str = "",
    width: int = 4,
) -> Panel:
    """One number, large, with its course behind it; `words` say what a number means."""
    builder = (
        stat.Panel()
        .with_target(_range(Query(expr, title), 0))
        .graph_mode(kinds.BigValueGraphMode.AREA)
        .color_mode(kinds.BigValueColorMode.VALUE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(_thresholds(steps))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .unit(unit)
        .no_value("–")
    )
    if decimals is not None:
        builder = builder.decimals(decimals)
    if words:
        options = {str(number): models.ValueMappingResult(text=word) for number, word in words.items()}
        builder = builder.mappings([models.ValueMap(options=options)])
    return Panel(builder, title, told, width, 4, alerts, page)


def lines(
    title: str,
    queries: Sequence[Query],
    told: str,
    *,
    unit: str = "short",
    steps: Steps = (),
    alerts: tuple[str, ...] = (),
    stacked: bool = False,
    most: float | None = None,
    width: int = 12,
) -> Panel:
    """Courses over time, from 0; with `steps`, the line past which an alert comes."""
    builder = (
        timeseries.Panel()
        .targets([_range(query, number) for number, query in enumerate(queries)])
        .unit(unit)
        .min(0)
        .axis_soft_max(_least_height(unit, steps))
        .line_width(1)
        .fill_opacity(35 if stacked else 8)
        .show_points(kinds.VisibilityMode.NEVER)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC))
        .legend(_legend(beside=width >= 12))
        .tooltip(
            common.VizTooltipOptions().mode(kinds.TooltipDisplayMode.MULTI).sort(kinds.SortOrder.DESCENDING)
        )
        .no_value("–")
    )
    if most is not None:
        builder = builder.max(most)
    if stacked:
        builder = builder.stacking(common.StackingConfig().mode(kinds.StackingMode.NORMAL))
    if steps:
        style = common.GraphThresholdsStyleConfig().mode(kinds.GraphTresholdsStyleMode.DASHED)
        builder = builder.thresholds(_thresholds(steps)).thresholds_style(style)
    return Panel(builder, title, told, width, 8, alerts)


def bars(
    title: str,
    expr: str,
    legend: str,
    told: str,
    *,
    unit: str = "short",
    steps: Steps = ((None, "blue"),),
    alerts: tuple[str, ...] = (),
    most: float | None = None,
    width: int = 8,
) -> Panel:
    """What there is now, side by side."""
    target = _instant(Query(expr, legend), 0).format(PromQueryFormat.TIME_SERIES)
    builder = (
        bargauge.Panel()
        .with_target(target)
        .orientation(kinds.VizOrientation.HORIZONTAL)
        .display_mode(kinds.BarGaugeDisplayMode.BASIC)
        .show_unfilled(True)
        .text(common.VizTextDisplayOptions().title_size(13).value_size(16))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(_thresholds(steps))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .unit(unit)
        .min(0)
        .no_value("–")
    )
    if unit == "short":  # increase() goes on beyond a last sample: 8 that were refused are 8.06
        builder = builder.decimals(0)
    if most is not None:
        builder = builder.max(most)
    return Panel(builder, title, told, width, 8, alerts)


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of a table: its heading, PromQL, unit, and from where on it is coloured."""

    title: str
    expr: str
    unit: str = "short"
    steps: Steps = ()


def rows(
    title: str,
    by: Sequence[str],
    columns: Sequence[Column],
    told: str,
    *,
    sort: str = "",
    leads: Mapping[str, str] | None = None,
    alerts: tuple[str, ...] = (),
    width: int = 12,
    height: int = 8,
) -> Panel:
    """A table: a row for each value of the labels `by`, a figure for each column, in the order of `sort`.

    `leads` are labels whose values lead to an address.
    """
    builder = (
        table.Panel()
        .targets([_instant(Query(column.expr), n) for n, column in enumerate(columns)])
        .with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_organised(by, columns))
        .show_header(True)
        .footer(common.TableFooterOptions().show(False).reducer([]).count_rows(False))
        .no_value("–")
    )
    if sort:
        builder = builder.sort_by([common.TableSortByFieldState().display_name(sort).desc(False)])
    for column in columns:
        builder = builder.override_by_name(column.title, _properties(column))
    for label, url in (leads or {}).items():
        link = {"title": "What to do", "url": url, "targetBlank": True}
        builder = builder.override_by_name(label, [models.DynamicConfigValue(id_val="links", value=[link])])
    return Panel(builder, title, told, width, height, alerts)


def _least_height(unit: str, steps: Steps) -> float:
    """How far an axis goes at least: to see what is near a threshold, and that nothing is nothing."""
    thresholds = [value for value, _ in steps if value is not None]
    return max(thresholds) * 1.25 if thresholds else {"percentunit": 0.1}.get(unit, 1)


def _legend(*, beside: bool) -> common.VizLegendOptions:
    """With figures beside a wide panel, without below a narrow one."""
    legend = common.VizLegendOptions().show_legend(True)
    if not beside:
        below = legend.display_mode(kinds.LegendDisplayMode.LIST).placement(kinds.LegendPlacement.BOTTOM)
        return below.calcs([])
    table = legend.display_mode(kinds.LegendDisplayMode.TABLE).placement(kinds.LegendPlacement.RIGHT)
    return table.calcs(["lastNotNull", "max"]).sort_by("Last *").sort_desc(True)


def _organised(by: Sequence[str], columns: Sequence[Column]) -> models.DataTransformerConfig:
    # With one query Grafana calls its figure Value, with several Value #A and so on.
    values = ["Value"] if len(columns) == 1 else [f"Value #{_ref(n)}" for n in range(len(columns))]
    names = dict(zip(values, (column.title for column in columns), strict=True))
    options = {
        "excludeByName": {"Time": True},
        "indexByName": {name: n for n, name in enumerate([*by, *values])},
        "renameByName": names | {label: label.replace("_", " ") for label in by},
    }
    return models.DataTransformerConfig(id_val="organize", options=options)


def _properties(column: Column) -> list[models.DynamicConfigValue]:
    found = [
        models.DynamicConfigValue(id_val="unit", value=column.unit),
        models.DynamicConfigValue(id_val="custom.width", value=110),
    ]
    if column.steps:
        steps = [{"value": value, "color": colour} for value, colour in column.steps]
        found += [
            models.DynamicConfigValue(id_val="thresholds", value={"mode": "absolute", "steps": steps}),
            models.DynamicConfigValue(id_val="color", value={"mode": "thresholds"}),
            models.DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}),
        ]
    return found


def _ref(number: int) -> str:
    return chr(ord("A") + number)


def _asked(query: Query, number: int) -> prometheus.Dataquery:
    asked = prometheus.Dataquery().expr(query.expr).legend_format(query.legend)
    return asked.ref_id(_ref(number)).datasource(SOURCE)


def _range(query: Query, number: int) -> prometheus.Dataquery:
    return _asked(query, number).range()


def _instant(query: Query, number: int) -> prometheus.Dataquery:
    return _asked(query, number).instant().format(PromQueryFormat.TABLE)


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=value, color=colour) for value, colour in steps])
    )
