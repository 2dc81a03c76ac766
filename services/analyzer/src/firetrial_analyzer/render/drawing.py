"""One drawing by matplotlib, made fit to stand inside a page.

Every mark takes its colour from the page's own style sheet, so one drawing serves light, dark and paper. Same
drawing, same bytes.
"""

from __future__ import annotations

import io
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colours that occur nowhere else stand for the style sheet's variables.
INK, MUTED, LINE, PAGE = "#010101", "#020202", "#030303", "#040404"
SERIES = tuple(f"#05050{n}" for n in range(1, 8))
_VARIABLES = {INK: "var(--ink)", MUTED: "var(--muted)", LINE: "var(--line)", PAGE: "var(--page)"} | {
    colour: f"var(--series-{n})" for n, colour in enumerate(SERIES, start=1)
}
SHAPES = "osD^vPX"
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 10.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "grid.color": LINE,
    "axes.axisbelow": True,
}
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
# matplotlib keeps its style in process-wide state.
_DRAWING = threading.Lock()
# Inches of 72 units: about as wide as a phone, so that its letters keep their size there.
_WIDTH = 5.0


@dataclass(frozen=True, slots=True)
class Plot:
    """An inline SVG with a title and a description in words, and what it shows in one line."""

    svg: str
    caption: str


def plot(
    name: str,
    told: tuple[str, str],
    height: float,
    names: Sequence[str],
    draw: Callable[[Axes], None],
) -> Plot:
    """`told` are its caption and what it shows in words; `height` is inches; `names` are those of agents."""
    caption, words = told
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
    true_names = {stand_in(row, names): true for row, true in enumerate(names)}
    return Plot(_for_page(out.getvalue(), name, caption, words, true_names), caption)


def stand_in(row: int, names: Sequence[str]) -> str:
    """Drawn in place of a name and as long: matplotlib would read some names as mathematics."""
    return f"@{row}".ljust(len(names[row]), "n")


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Names stand above their rows: beside them a long one would leave no room for the plot."""
    for row in range(len(names)):
        axes.text(0, row - 0.32, stand_in(row, names), transform=axes.get_yaxis_transform(), fontsize=10.5)
    axes.set_ylim(len(names) - 0.5, -0.65)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", linewidth=0.6)


def row_height(rows: int, each: float = 0.52) -> float:
    """Inches for so many named rows and an axis."""
    return 0.75 + each * rows


def _for_page(svg: str, name: str, title: str, words: str, names: dict[str, str]) -> str:
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
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.set("aria-labelledby", f"{name}-title")
    root.set("aria-describedby", f"{name}-words")
    for place, (tag, said) in enumerate((("title", title), ("desc", words))):
        told = ET.Element(tag, {"id": f"{name}-{'title' if tag == 'title' else 'words'}"})
        told.text = said
        root.insert(place, told)
    return ET.tostring(root, encoding="unicode")


def _rewritten(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    for colour, variable in _VARIABLES.items():
        value = value.replace(colour, variable)
    return value.replace("url(#", f"url(#{name}-")
