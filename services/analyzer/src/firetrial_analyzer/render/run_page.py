"""One run as one HTML file: its claims, why they are wrong, and its trajectory with every step."""

from __future__ import annotations

from markupsafe import Markup

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.render.packing import inert_json
from firetrial_analyzer.render.run_view import run_view
from firetrial_analyzer.render.shell import page
from firetrial_analyzer.render.viewer import Packed, pack
from firetrial_analyzer.render.words import measured
from firetrial_analyzer.report import Task
from firetrial_analyzer.window import Window


def html(item: AnalysedRun, task: Task, window: Window) -> str:
    """The page; the same run gives the same bytes."""
    cited = cited_steps(item)
    trajectory = pack(window, cited)
    index = {
        "lines": trajectory.lines,
        "last": trajectory.last_step,
        "blocks": [[block.start, block.first] for block in trajectory.blocks],
    }
    return page(
        "run.html.j2",
        ("unpack.js", "viewer.js") if trajectory.lines else (),
        run=item.run,
        measure=measured(item.run.measure),
        task=task,
        judge=item.judge,
        view=run_view(item, linked=lambda step: _holds(trajectory, step)),
        trajectory=trajectory,
        cited=cited,
        index=Markup(inert_json(index)),  # noqa: S704 - numbers, and inert besides
    )


def cited_steps(item: AnalysedRun) -> frozenset[int]:
    """Steps that the run's attribution or integrity rests on."""
    found = [*item.integrity.findings] if item.integrity else []
    why = item.attribution
    sources = [*found, *(why.missed + why.false_positives + why.signals if why else ())]
    return frozenset(cited.step for source in sources for cited in source.citations)


def _holds(trajectory: Packed, step: int) -> bool:
    """Whether the page can go to the step."""
    left_out = any(gap.first <= step <= gap.last for gap in trajectory.gaps)
    return 0 < step <= trajectory.last_step and not left_out
