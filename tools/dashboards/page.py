"""How a page of ours is laid out, whatever it shows: rows on the grid, variables and links.

Rows of panels, the most urgent first. Ids go by titles, so that neither order nor date changes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dashboards.panels import SOURCE, Panel, panel_id
from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models

TAG = "firetrial"
WIDTH = 24


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading, from left to right, and on where 24 columns are full."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A dashboard; `variables` are those of VARIABLES that it asks for."""

    name: str
    title: str
    told: str
    rows: tuple[Row, ...]
    variables: tuple[str, ...]
    range: str = "now-6h"

    @property
    def uid(self) -> str:
        return f"firetrial-{self.name}"

    def build(self, runbooks: str) -> models.Dashboard:
        """`runbooks`: where the runbook is served, as seen by a browser."""
        builder = (
            dashboard.Dashboard(f"Firetrial: {self.title}")
            .uid(self.uid)
            .description(self.told)
            .tags([TAG])
            .timezone("browser")
            .time(self.range, "now")
            .refresh("30s")
            .tooltip(models.DashboardCursorSync.CROSSHAIR)
            .readonly()
            .variables([_SOURCES, *(_variable(name) for name in self.variables), _runbooks(runbooks)])
            .annotation(_FIRING)
            .link(_OTHERS)
        )
        y = 0
        for row in self.rows:
            place = models.GridPos(h=1, w=WIDTH, x=0, y=y)
            builder = builder.with_row(
                dashboard.Row(row.title).id(panel_id(self.uid, f"row {row.title}")).grid_pos(place)
            )
            y = self._lay(builder, row, y + 1)
        return builder.build()

    def _lay(self, builder: dashboard.Dashboard, row: Row, y: int) -> int:
        """Add a row's panels from line `y` on; gives the first line below them."""
        x = height = 0
        for panel in row.panels:
            if x + panel.width > WIDTH:
                x, y, height = 0, y + height, 0
            builder.with_panel(panel.placed(self.uid, x, y))
            x, height = x + panel.width, max(height, panel.height)
        return y + height


# Name → what is asked for, and the metric that has all of its values, however few runners there are.
VARIABLES = {
    "pool": ("Pool", "firetrial_pool_waiting_runs"),
    "service": ("Service", "firetrial_build_info"),
    "agent": ("Agent", "firetrial_run_outcomes_total"),
    "model": ("Model", "firetrial_run_outcomes_total"),
}


def _variable(name: str) -> dashboard.QueryVariable:
    label, metric = VARIABLES[name]
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query({"query": f"label_values({metric}, {name})", "refId": name})
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(models.VariableOption(text="All", value="$__all", selected=True))
    )


_SOURCES = (
    dashboard.DatasourceVariable("datasource")
    .label("Data source")
    .type("prometheus")
    .current(models.VariableOption(text="Firetrial", value="firetrial-prometheus", selected=True))
)


def _runbooks(address: str) -> dashboard.ConstantVariable:
    return dashboard.ConstantVariable("runbooks").label("Where the runbook is").value(address)


_FIRING = (
    dashboard.AnnotationQuery()
    .name("Alerts")
    .datasource(SOURCE)
    .enable(True)
    .icon_color("red")
    .expr('ALERTS{alertstate="firing", severity=~"page|ticket"}')
)
_OTHERS = (
    dashboard.DashboardLink("Firetrial")
    .type(models.DashboardLinkType.DASHBOARDS)
    .tags([TAG])
    .keep_time(True)
    .include_vars(True)
    .as_dropdown(False)
)
