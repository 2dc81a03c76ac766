"""`firetrial admin …` against the servers of a test, as an operator runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from firetrial_client import AsyncFiretrial
from firetrial_operate.admin.cli import admin
from support import servers

STUDY = """# Sorting small arrays

## Question
How does the size of an array change which of two sorting methods is faster?

## Results
Table 1 shows the wall time of both methods by array size.

Table 1: Median wall time by array size and method.

Insertion sort is faster than merge sort on arrays below 32 elements (Table 1).
"""
FOUND = "Insertion sort is faster than merge sort on arrays below 32 elements."


async def asked(environ: Mapping[str, str], *argv: str, words: bool = False) -> Any:
    """What the command prints: its JSON, or its words. Raises what it raises."""

    def run() -> Any:
        told = [*argv, *([] if words else ["--json"])]
        result = CliRunner(env=dict(environ)).invoke(admin, told, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output if words else json.loads(result.output)

    return await asyncio.to_thread(run)


def operator(nats_url: str, s3: servers.S3) -> dict[str, str]:
    key, secret = s3.keys["admin"]
    return {
        "FIRETRIAL_NATS_URL": nats_url,
        "FIRETRIAL_OBJECTS_URL": s3.url,
        "FIRETRIAL_S3_ACCESS_KEY": key,
        "FIRETRIAL_S3_SECRET_KEY": secret,
    }


async def agent(client: AsyncFiretrial, name: str, line: str) -> str:
    found = await client.submit_agent(name=name, command=["sh", "-c", line])
    return str(found.id)


async def tasks(client: AsyncFiretrial, folder: Path) -> list[str]:
    """The tasks of the study."""
    path = folder / "study.md"
    path.write_text(STUDY)
    submitted = await client.submit_paper(path)
    async for paper in client.watch_paper(submitted.paper.id, timeout=60):
        found = list(paper.task_ids)
    return found


async def complete(client: AsyncFiretrial, experiment_id: str) -> None:
    async for report in client.watch_report(experiment_id, timeout=60, appear=30):
        last = report
    assert last.complete, last.failure
    async for _ in client.watch_runs(experiment_id, timeout=30):
        pass
