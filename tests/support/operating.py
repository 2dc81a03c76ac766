"""`firetrial admin …` against the servers of a test, as an operator runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from click.testing import CliRunner

from firetrial_operate.admin.cli import admin


async def asked(environ: Mapping[str, str], *argv: str, words: bool = False) -> Any:
    """What the command prints: its JSON, or its words. Raises what it raises."""

    def run() -> Any:
        told = [*argv, *([] if words else ["--json"])]
        result = CliRunner(env=dict(environ)).invoke(admin, told, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output if words else json.loads(result.output)

    return await asyncio.to_thread(run)
