"""The Dockerfiles as they stand: Docker knows no include, so what they have in common is held here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("parser", "runner", "judge", "analyzer")
RECIPES = {name: (ROOT / "services" / name / "Dockerfile").read_text() for name in SERVICES}
EVERY = {**RECIPES, "operate": (ROOT / "libs" / "operate" / "Dockerfile").read_text()}


def test_those_of_the_services_differ_in_names_and_in_what_agents_are_given() -> None:
    def plain(name: str) -> list[str]:
        text = RECIPES[name].replace(" $AGENT_PACKAGES", "").replace(name, "NAME")
        return [line for line in text.splitlines() if "AGENT_PACKAGES" not in line]

    assert all(plain(name) == plain("parser") for name in SERVICES)


@pytest.mark.parametrize("name", EVERY)
def test_each_is_held_to_the_same_digest_and_runs_as_nobody(name: str) -> None:
    (base,) = re.findall(r"^ARG BASE=(.+)$", EVERY[name], re.MULTILINE)
    assert re.fullmatch(r"python:[\w.-]+@sha256:[0-9a-f]{64}", base)
    assert {base} == {re.findall(r"^ARG BASE=(.+)$", text, re.MULTILINE)[0] for text in EVERY.values()}
    *_, last = EVERY[name].split("\nFROM ${BASE}")
    assert "--uid 10001" in last
    assert "\nUSER firetrial\n" in last


@pytest.mark.parametrize("name", EVERY)
def test_all_that_is_copied_reaches_the_engine(name: str) -> None:
    """And nothing that nobody copies: .dockerignore names what is let through."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", EVERY[name], re.MULTILINE)
        for source in line.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    assert all(source in allowed or source.partition("/")[0] in allowed for source in copied)
    assert allowed == {"requirements.lock", "tools/locked.py", "libs", "services"}
