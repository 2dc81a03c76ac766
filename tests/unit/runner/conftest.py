"""A runner in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.runner.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "work")
