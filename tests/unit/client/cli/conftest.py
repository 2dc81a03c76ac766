"""`firetrial` as a person calls it, against the fake Firetrial."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firetrial_client.cli.main import cli
from unit.client.cli.documents import SCORED
from unit.client.fakes import Server, World

Call = Callable[..., Result]


@pytest.fixture
def firetrial(server: Server, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the program in an empty folder; `code` is the exit code that is expected."""
    monkeypatch.chdir(tmp_path)
    world.documents["json"] = SCORED
    environ = {"FIRETRIAL_ENDPOINT": server.endpoint, "FIRETRIAL_HOME": str(tmp_path / "home")}

    def call(*args: str, code: int = 0, env: dict[str, str] | None = None) -> Result:
        result = CliRunner().invoke(cli, args, env={**environ, **(env or {})})
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def answer(firetrial: Call) -> Callable[..., Any]:
    """Call the program with --json and give its one document."""

    def call(*args: str, code: int = 0) -> Any:
        result = firetrial(*args, "--json", code=code)
        assert result.stdout.count("\n") == 1, result.stdout
        return json.loads(result.stdout)

    return call
