import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from firetrial_analyzer.cli import commands

DOCUMENT = '{"embeddings": [[1, 0], [3, 0]], "baseline_embedding": [0, 0]}'


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "steps.json"
    path.write_text(DOCUMENT)
    return str(path)


def test_process_metrics_for_programs(file: str) -> None:
    command = commands[0]
    result = CliRunner().invoke(command, [file, "--json"])
    assert (command.name, result.exit_code) == ("process-metrics", 0)
    assert json.loads(result.stdout) == {
        "exploration_spread": 1.0,
        "exploration_uniqueness": 0.5,
        "exploration_reach": 3.0,
        "effective_dim": 1.0,
    }


def test_process_metrics_for_people_from_standard_input() -> None:
    result = CliRunner().invoke(commands[0], ["-"], input=DOCUMENT)
    assert result.exit_code == 0
    assert "exploration reach       3" in result.stdout


def test_faults_are_told_on_standard_error_one_a_line() -> None:
    result = CliRunner().invoke(commands[0], ["-", "--json"], input='{"embeddings": [[NaN], []]}')
    assert (result.exit_code, result.stdout) == (2, "")
    assert "embeddings[0][0] is 'NaN'" in result.stderr
    assert "embeddings[1] is '[]'" in result.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(commands[0], [str(tmp_path / "none.json")])
    assert result.exit_code == 2
    assert "must be readable" in result.stderr
