"""A comparison of experiments, in the formats that it is made in."""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic import TypeAdapter

from firetrial_analyzer.render import Format, text
from firetrial_analyzer.render.markdown import escaped, sheet_table
from firetrial_analyzer.render.sheets import Cell, Sheet
from firetrial_analyzer.render.shell import page
from firetrial_analyzer.versus import Against, Versus
from firetrial_kit.errors import Fault, invalid


def render(comparison: Versus, form: Format) -> bytes:
    """UTF-8: the same comparison, the same bytes. Raises INVALID for a format that a comparison has not."""
    if form not in _RENDERERS:
        cure = f"a comparison comes as {', '.join(_RENDERERS)}"
        raise invalid("the comparison", [Fault("format", form.value, cure)])
    return _RENDERERS[form](comparison).encode("utf-8")


def _html(comparison: Versus) -> str:
    tables = [(against, _agents(against), _tasks(against)) for against in comparison.others]
    return page("versus.html.j2", comparison=comparison, tables=tables)


def _markdown(comparison: Versus) -> str:
    parts = [f"# {escaped(comparison.base.experiment, 120)} beside others"]
    for against in comparison.others:
        parts += [f"## Against {escaped(against.side.experiment, 120)}"]
        parts += (
            ["\n".join(f"- **{escaped(said, 600)}**" for said in against.caveats)] if against.caveats else []
        )
        parts += ["\n".join(f"- {escaped(said, 600)}" for said in against.notes)] if against.notes else []
        for sheet in (_agents(against), _tasks(against)):
            if sheet.rows:
                parts += [f"### {sheet.title}", escaped(sheet.note), sheet_table(sheet)]
        parts += [escaped(said) for said in _alone(against)]
    return "\n\n".join(parts) + "\n"


def _json(comparison: Versus) -> str:
    told = TypeAdapter(Versus).dump_python(comparison, mode="json")
    return json.dumps(told, ensure_ascii=False, indent=1).encode("utf-8", "replace").decode() + "\n"


_RENDERERS: dict[Format, Callable[[Versus], str]] = {
    Format.HTML: _html,
    Format.MARKDOWN: _markdown,
    Format.JSON: _json,
}


def _agents(against: Against) -> Sheet:
    rows = [
        (
            Cell(match.name),
            Cell(text.mean_and_spread(match.base.score)),
            Cell(text.mean_and_spread(match.other.score)),
            Cell(str(match.comparison.tasks)),
            Cell(text.difference(match.comparison.difference)),
            Cell(text.interval(match.comparison.interval, -1)),
            Cell(text.probability(match.comparison.p_value)),
            Cell(text.probability(match.comparison.p_adjusted)),
            Cell(text.usd(match.base.usd)),
            Cell(text.usd(match.other.usd)),
        )
        for match in against.matches
    ]
    head = ("Agent", "Score here", "Score there", "Shared tasks", "There − here", "95 % interval", "p")
    note = (
        "The score is over all tasks of each experiment, the difference over those that both have; "
        "points of 100. The p-value is two-sided, by flipping the signs of the task differences, and "
        "corrected after Holm."
    )
    more = ("p, corrected", "USD a run here", "USD a run there")
    return Sheet("agents", "Agents", note, (*head, *more), tuple(rows))


def _tasks(against: Against) -> Sheet:
    """Tasks by agents: the mean here, the mean there and the difference."""
    rows = [
        (
            Cell(task),
            *(_change(match.tasks[place].base, match.tasks[place].other) for match in against.matches),
        )
        for place, task in enumerate(against.shared_tasks)
    ]
    note = "Mean score here → there and the difference, points of 100."
    head = ("Task", *(match.name for match in against.matches))
    return Sheet("tasks", "Shared tasks", note, head, tuple(rows) if against.matches else ())


def _change(base: float | None, other: float | None) -> Cell:
    change = None if base is None or other is None else other - base
    return Cell(f"{text.points(base)} → {text.points(other)} ({text.difference(change)})")


def _alone(against: Against) -> list[str]:
    told = (("here", against.only_base), ("there", against.only_other))
    return [f"Agents only {where}: {', '.join(names)}." for where, names in told if names]
