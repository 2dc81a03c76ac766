"""What is around every page: a head with a policy that lets nothing in, its style, and its own script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from firetrial_analyzer.render import text
from firetrial_analyzer.render.nodes import Node, markup
from firetrial_analyzer.render.packing import script_source
from firetrial_analyzer.render.words import (
    OUTCOMES,
    clearly_apart,
    cost,
    named,
    outcome_counts,
    remembered,
    usage,
    wall_time,
)


def page(template: str, scripts: Sequence[str] = (), **values: object) -> str:
    """One file that needs nothing else. The policy allows `scripts`, resources of ours, and no other."""
    script = "\n".join(_resource(name) for name in scripts)
    return (
        _environment()
        .get_template(template)
        .render(
            css=Markup(_resource("page.css")),  # noqa: S704 - our own style sheet
            script=Markup(script),  # noqa: S704 - our own script
            script_source=Markup(script_source(script) if script else "'none'"),  # noqa: S704 - a hash
            **values,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": text.shown,
        "points": text.points,
        "percent": text.percent,
        "when": text.when,
        "mean": text.mean_and_spread,
        "interval": text.interval,
        "difference": text.difference,
        "probability": text.probability,
        "usd": text.usd,
        "seconds": text.seconds,
        "count": text.count,
        "outcomes": outcome_counts,
        "outcome": lambda outcome: OUTCOMES[outcome],
        "named": named,
        "clear": clearly_apart,
        "remembered": remembered,
        "cell": text.values,
        "wall_time": wall_time,
        "cost": cost,
        "usage": usage,
        "fields": astuple,
        "markup": _markup,
    }
    return environment


def _markup(parts: Sequence[Node]) -> Markup:
    return Markup("".join(map(markup, parts)))  # noqa: S704 - nodes escape what they hold


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
