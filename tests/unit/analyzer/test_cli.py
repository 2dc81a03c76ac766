import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from firetrial_analyzer.cli import commands


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "embeddings.json"
    path.write_text("{}")
    return str(path)


def test_process_metrics_say_not_yet(file: str) -> None:
    (command,) = commands
    result = CliRunner().invoke(command, [file])
    assert (command.name, result.exit_code) == ("process-metrics", 3)
    assert "not computed yet" in result.stderr


def test_process_metrics_say_not_yet_in_json(file: str) -> None:
    result = CliRunner().invoke(commands[0], [file, "--json"])
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"]["reason"] == "NOT_YET"
