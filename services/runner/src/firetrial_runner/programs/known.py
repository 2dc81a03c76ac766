"""The agent programs that are known here."""

from __future__ import annotations

from collections.abc import Iterator

from firetrial_kit.errors import Fault
from firetrial_runner.gateway.upstream import Dialect
from firetrial_runner.programs.program import Package, Program, split
from firetrial_runner.streams import ClaudeCode, Codex, OpenCode, OpenHandsEvents, Reference

_CODEX = "node_modules/@openai/codex-linux-*/vendor/*-linux-*"
_CLAUDE = "node_modules/@anthropic-ai/claude-code-linux-*"
_OPENCODE = "node_modules/opencode-linux-x64"

_PROGRAMS = (
    Program(
        "codex",
        Codex,
        Dialect.OPENAI,
        Package(
            "@openai/codex", "0.171.0", {"codex": f"{_CODEX}/bin/codex", "rg": f"{_CODEX}/codex-path/rg"}
        ),
    ),
    Program(
        "claude-code",
        ClaudeCode,
        Dialect.ANTHROPIC,
        Package("@anthropic-ai/claude-code", "2.1.197", {"claude": f"{_CLAUDE}/claude"}),
    ),
    Program(
        "opencode",
        OpenCode,
        Dialect.OPENAI,
        # Its own package wants those of all machines, of which not every registry has all.
        Package("opencode-linux-x64", "1.18.33", {"opencode": f"{_OPENCODE}/bin/opencode"}),
    ),
    Program(
        "openhands",
        OpenHandsEvents,
        Dialect.OPENAI,
        # Needs Python 3.12, which not every machine has to show: an image brings both.
        Package("openhands", "1.16.0", {"openhands": "venv/bin/openhands"}, by="pip"),
    ),
    # The project's own are in the bundle of the agent that ships.
    Program("reference", Reference, Dialect.OPENAI),
    Program("replay", Reference),
)
KNOWN = {program.name: program for program in _PROGRAMS}


def known(told: str) -> Program | None:
    """The program that an agent names; None for "", which is no program that is known."""
    return KNOWN.get(split(told)[0])


def faults(told: str) -> Iterator[Fault]:
    """What is wrong with a program's name; "" is right."""
    if not told:
        return
    name, version = split(told)
    program = KNOWN.get(name)
    if program is None or bool(version) != bool(program.package):
        names = ", ".join(program.told for program in _PROGRAMS)
        yield Fault("program", told, f"must be empty, or one of {names} (another version where it has one)")
