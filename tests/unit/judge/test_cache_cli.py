"""`judge cache stats` and `judge cache prune`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from firetrial_judge.cli import judge_group
from firetrial_kit.cache import LocalTier
from support.scripted_models import ScriptedModels
from unit.judge.wrong import CONCLUSION, TRUTH, right


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    tier = LocalTier(tmp_path / "cache", 10 * 1024 * 1024)
    for number in range(3):
        key = f"{number:02x}" * 32
        await tier.put({key: b"x" * 1024 * 1024})
        os.utime(tmp_path / "cache" / key[:2] / f"{key}.json", (number, number))
    return tmp_path / "cache"


def told(*arguments: str, environ: dict[str, str] | None = None) -> dict[str, object]:
    ended = CliRunner().invoke(judge_group, ["cache", *arguments, "--json"], env=environ)
    assert ended.exit_code == 0, ended.output
    return dict(json.loads(ended.output))


def test_stats_and_prune_tell_what_is_there(folder: Path) -> None:
    mib = 1024 * 1024
    assert told("stats", "--dir", str(folder)) == {"dir": str(folder), "entries": 3, "bytes": 3 * mib}
    environ = {"FIRETRIAL_JUDGE_CACHE_DIR": str(folder)}
    assert told("prune", "--keep-mib", "2", environ=environ)["entries"] == 2
    assert not list(folder.glob("00/*"))
    assert told("prune", environ=environ) == {"dir": str(folder), "entries": 0, "bytes": 0}
    shown = CliRunner().invoke(judge_group, ["cache", "stats", "--dir", str(folder)])
    assert shown.output == f"{folder}: 0 answers, 0.0 MiB\n"


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [((), "FIRETRIAL_JUDGE_CACHE_DIR"), (("--dir", "/no/such"), "a folder that exists")],
)
def test_a_folder_that_is_not_there_is_told(arguments: tuple[str, ...], cure: str) -> None:
    for command in ("stats", "prune"):
        ended = CliRunner().invoke(
            judge_group, ["cache", command, *arguments], env={"FIRETRIAL_JUDGE_CACHE_DIR": ""}
        )
        assert ended.exit_code == 2
        assert cure in ended.output


def test_texts_judged_twice_are_paid_for_once(tmp_path: Path) -> None:
    for name, text in (("truth", TRUTH), ("conclusion", CONCLUSION)):
        (tmp_path / name).write_text(text)
    environ = {"FIRETRIAL_JUDGE_CACHE_DIR": str(tmp_path / "cache"), "OPENAI_API_KEY": "sk-none"}
    with ScriptedModels(right) as models:
        arguments = ["text", "--truth", str(tmp_path / "truth"), "--conclusion", str(tmp_path / "conclusion")]
        arguments += ["--backend", "openai", "--model", "m", "--base-url", models.base_url, "--json"]
        for _ in range(2):
            ended = CliRunner().invoke(judge_group, arguments, env=environ)
            assert ended.exit_code == 0, ended.output
    assert len(models.requests) == 3
    judged = json.loads(ended.output)
    assert (judged["precision"], judged["usage"]["calls"], judged["usage"]["cache_hits"]) == (1 / 3, 0, 7)
