"""Cutoffs can be edited and handed in; a leaderboard that was changed is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firetrial_analyzer import data_cli
from firetrial_analyzer.leaderboard import leaderboard
from unit.analyzer.test_leaderboard import RELEASE, rows, whole

CUTOFFS, CHECK = data_cli.commands


def call(command: Any, *args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(command, args)
    assert result.exit_code == code, result.output
    return result


def test_the_shipped_table_is_a_file_that_can_be_handed_in(tmp_path: Path) -> None:
    table = tmp_path / "cutoffs.json"
    table.write_text(call(CUTOFFS, "--json").output)
    assert call(CUTOFFS, str(table), "--json").output == table.read_text()
    assert "gpt-5            2024-09-30" in call(CUTOFFS).output
    told = json.loads(table.read_text())
    told["models"]["mine"] = {"cutoff": "June", "source": ""}
    table.write_text(json.dumps(told))
    refused = call(CUTOFFS, str(table), code=2).output
    assert "models.mine.cutoff" in refused
    assert "models.mine.source" in refused


@pytest.mark.parametrize(("changed", "code"), [(False, 0), (True, 2)])
def test_an_export_is_checked(tmp_path: Path, *, changed: bool, code: int) -> None:
    data = leaderboard(rows(whole("a", 0.5)), RELEASE).to_json()
    board = tmp_path / "board.json"
    board.write_bytes(data.replace(b"0.5", b"0.9") if changed else data)
    result = call(CHECK, str(board), "--json", code=code)
    if changed:
        assert "changed after it was exported" in result.output
    else:
        assert json.loads(result.output) == {"path": str(board), "unchanged": True}
