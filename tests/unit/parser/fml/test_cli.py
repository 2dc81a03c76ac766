"""`firetrial import fml`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.protobuf.json_format import ParseDict

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial_parser.fml.cli import fml
from unit.parser.fml import layout
from unit.parser.fml.layout import NAME
from unit.parser.world import World


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return layout.write(tmp_path)


def called(path: Path, *args: str, submit: Any = None) -> Any:
    answer = CliRunner().invoke(
        fml, [str(path), *args, "--json"], obj={"submit_header": submit}, catch_exceptions=False
    )
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def submitting(world: World) -> Any:
    def submit(told: dict[str, Any], tar: Path | None) -> tuple[str, str]:
        data = tar.read_bytes() if tar else b""
        header = ParseDict({**told, "data_size": str(len(data))}, pb.TaskHeader())
        stored = asyncio.run(world.submit_task(header, data)).task
        return stored.id, stored.version

    return submit


def test_the_service_takes_it_under_the_id_that_was_told(root: Path) -> None:
    """With its repository, and as a definition without one."""
    for gone in (None, f"ml_tasks/{NAME}/train.py"):
        if gone:
            (root / gone).unlink()
        (dry,) = called(root, "--dry-run")
        world = World()
        (stored,) = called(root, submit=submitting(world))
        assert (stored["id"], stored["runnable"], stored["stored"]) == (dry["id"], gone is None, True)
        kept = asyncio.run(world.servicer.GetTask(pb.GetTaskRequest(id=stored["id"]), None)).task
        assert kept.repository.HasField("source") == kept.has_truth == (gone is None)
        assert list(kept.broken) == stored["broken"]


def test_a_dry_run_stores_nothing(root: Path) -> None:
    (found,) = called(root, "--dry-run", submit=lambda *_: pytest.fail("it was stored"))
    assert not found["stored"]


@pytest.mark.needs("shared")
def test_all_eighteen_are_taken_in(shared: Path) -> None:
    world = World()
    found = called(shared / "fml", submit=submitting(world))
    assert len({task["id"] for task in found if task["stored"]}) == 18
    assert all(task["broken"] for task in found)
    text = CliRunner().invoke(fml, [str(shared / "fml"), "--dry-run"], catch_exceptions=False).output
    assert "18 tasks, 0 with all that their runs need, 0 stored" in text
