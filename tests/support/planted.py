"""Where labs plant a secret as if it were a package of this project's: beside those that are installed.

The place stays until the tests are over: a sandbox that another process starts meanwhile may have seen it.
"""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

PACKAGE = Path(sysconfig.get_path("purelib"), "firetrial_lab")


def remove() -> None:
    """When the tests are over."""
    shutil.rmtree(PACKAGE, ignore_errors=True)
