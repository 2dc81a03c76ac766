"""What `firetrial up` needs of this machine, for `firetrial doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import sys

from firetrial_client import local
from firetrial_client.local.home import Home, default_home, holder
from firetrial_client.local.processes import program

_ROOM = 2 * 1024**3
Found = tuple[str, bool, str, str]


def checks() -> list[Found]:
    """(name, ok, detail, cure) of each thing that was looked at."""
    home = default_home(os.environ)
    elsewhere = "FIRETRIAL_ENDPOINT" in os.environ  # nothing is started here: no broker's program is missed
    return [_python(), *([] if elsewhere else [_broker()]), _room(home), _running(home)]


def _python() -> Found:
    ok = sys.version_info >= (3, 11)
    return "python", ok, platform.python_version(), "" if ok else "install Python 3.11 or newer"


def _broker() -> Found:
    try:
        return "nats-server", True, program("nats-server"), ""
    except local.StartError as error:
        return "nats-server", False, "not found", str(error)


def _room(home: Home) -> Found:
    folder = next(parent for parent in (home.path, *home.path.parents) if parent.exists())
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1024**3:.1f} GiB free under {home.path}"
    cure = "" if free >= _ROOM else "free 2 GiB there, or set FIRETRIAL_HOME to another disk"
    return "disk", not cure, detail, cure


def _running(home: Home) -> Found:
    pid = holder(home)
    if pid is None:
        return "services", True, "not running here; `firetrial up` starts them", ""
    well = local.is_up(home)
    cure = f"see {home.logs / 'supervisor.log'}; `firetrial down` and `firetrial up` start anew"
    return "services", well, f"supervisor is process {pid}", "" if well else cure
