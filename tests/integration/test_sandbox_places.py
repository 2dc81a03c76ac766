"""Where a checkout may lie: its Python is seen by sandboxes also from places that are private to a run."""

from __future__ import annotations

import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

PROBE = """
import asyncio
from firetrial_runner.sandbox.bwrap import BwrapSandbox
asyncio.run(BwrapSandbox.create().probe())
"""


@pytest.mark.needs("bwrap")
def test_an_environment_under_tmp(tmp_path: Path) -> None:
    assert tmp_path.is_relative_to("/tmp"), "pytest's folders lie elsewhere here; set --basetemp under /tmp"
    venv.create(tmp_path / "venv", with_pip=False)
    (site,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    (site / "outer.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    python = tmp_path / "venv" / "bin" / "python"
    ended = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
