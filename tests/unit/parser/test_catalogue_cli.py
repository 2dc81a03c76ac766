"""The commands of the catalogue."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.catalogue.entries import named
from firetrial_parser.catalogue_cli import tasks

(MIDDLE,) = named(("lost_in_the_middle",))


def said(*argv: str) -> str:
    result = CliRunner().invoke(tasks, argv, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_list_has_a_line_for_each() -> None:
    lines = said("catalogue").splitlines()
    assert len(lines) == 30
    assert any(line.startswith("lost_in_the_middle") and "easy" in line for line in lines)


def test_findings_are_hidden_unless_asked_for() -> None:
    assert MIDDLE.findings[0] not in said("catalogue", "lost-in-the-middle")
    assert MIDDLE.findings[0] not in said("catalogue", "--json")
    assert MIDDLE.findings[0] in said("catalogue", "lost-in-the-middle", "--with-truth")
    (shown,) = json.loads(said("catalogue", "lost_in_the_middle", "--with-truth", "--json"))
    assert shown["findings"] == list(MIDDLE.findings)
    assert shown["difficulty"]["level"] == "easy"


def test_the_export_is_what_is_submitted() -> None:
    (exported,) = json.loads(said("export", "lost_in_the_middle"))
    assert exported == MIDDLE.submission()
    assert len(json.loads(said("export", "--all", "--json"))) == 30


def test_wrong_usage() -> None:
    assert CliRunner().invoke(tasks, ["export"]).exit_code == 2
    with pytest.raises(FiretrialError) as raised:
        CliRunner().invoke(tasks, ["catalogue", "nothing"], catch_exceptions=False)
    assert raised.value.reason is Reason.NOT_FOUND
