"""What an agent is told of a repository task: the task's own words, and how steps are handed in."""

from __future__ import annotations

import shlex
from importlib.resources import files
from string import Template

from firetrial_parser.kinds.repository import Repository, Setting

TEMPLATE = "repository-v1.txt"
DEFAULT_STEPS = 100  # as the contract has it


def briefed(own: str, told: Repository) -> str:
    """The instruction of a task whose own words are `own`."""
    template = Template((files("firetrial_parser") / "templates" / TEMPLATE).read_text(encoding="utf-8"))
    commands = filter(None, (told.validation.command, told.validation.score_command))
    return template.substitute(
        own=own.rstrip(),
        targets="\n".join(f"  - {path}" for path in told.targets),
        command=" and then ".join(shlex.join(command) for command in commands) or "the validation",
        metric=told.metric.key,
        better="Higher" if told.metric.higher_is_better else "Lower",
        steps=told.max_steps or DEFAULT_STEPS,
        split=_split(told),
    )


def _split(told: Repository) -> str:
    if told.split is None:
        return ""
    fields = "; ".join(map(_bounds, told.split.settings))
    said = f"- {told.split.file} sets how the data that you see is split: {fields}."
    return f"{said} Other values make a step void.\n"


def _bounds(setting: Setting) -> str:
    kind = "a whole number" if setting.whole else "a number"
    return f"{setting.name}, {kind} from {setting.least:g} to {setting.most:g} (default {setting.default:g})"
