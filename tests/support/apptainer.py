"""Stands in for `apptainer exec` where that is absent: the same command line, kept by bubblewrap.

It proves that the command line can be read and that what is around it works: the gate, the call from inside,
limits, time, output, death, reaping. It proves nothing of how Apptainer itself keeps what it is told.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

from firetrial_runner.sandbox import bwrap_view as view
from firetrial_runner.sandbox.bwrap import find_program
from firetrial_runner.sandbox.port import HOME, WORKSPACE, Limits

FLAGS = ("containall", "no-home", "no-eval", "no-privs", "pid", "ipc", "uts", "net", "nv", "no-nv")
VALUES = ("hostname", "network", "no-mount", "scratch", "pwd", "memory", "memory-swap", "cpus", "pids-limit")
PREFIX = "APPTAINERENV_"
BECOME = (
    "import os, sys; uid = int(sys.argv[1]); os.setgroups([]); os.setresgid(uid, uid, uid);"
    "os.setresuid(uid, uid, uid); os.execvp(sys.argv[2], sys.argv[2:])"
)


def install(folder: Path, *, limiting: bool = True) -> Path:
    """Put an `apptainer` into a folder; one without `limiting` refuses to hold limits. Returns its path."""
    program = folder / "apptainer"
    program.write_text(f'#!/bin/sh\nLIMITING={limiting:d} exec {sys.executable} {__file__} "$@"\n')
    program.chmod(0o755)
    return program


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("exec", choices=["exec"])
    for flag in FLAGS:
        parser.add_argument(f"--{flag}", action="store_true")
    for value in VALUES:
        parser.add_argument(f"--{value}")
    for several in ("mount", "security"):
        parser.add_argument(f"--{several}", action="append", default=[])
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    told = parser.parse_args(argv)
    if told.memory and os.environ["LIMITING"] != "1":
        sys.exit(
            "FATAL:   container creation failed: cannot use cgroups - rootless cgroups require cgroups v2"
        )
    if not Path(told.image).exists():
        sys.exit(f"FATAL:   could not open image {told.image}: no such file or directory")
    security = dict(item.split(":", 1) for item in told.security)
    uid = int(security["uid"]) if "uid" in security else None
    becoming = ["python3", "-c", BECOME, str(uid)] if uid is not None else []
    program = find_program()
    assert program is not None
    command = [str(program), *options(told, uid), "--", *becoming, *told.command]
    os.execv(program, command)  # noqa: S606 -- standing in for another program


def options(told: argparse.Namespace, uid: int | None) -> list[str]:
    meant = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    inside = {name.removeprefix(PREFIX): value for name, value in meant.items()}
    made = [*view.namespaces(uid), *view.system(), *view.private(Limits()), *view.interpreter()]
    for mount in told.mount:
        (fields,) = csv.reader([mount])
        named = dict(field.split("=", 1) for field in fields if "=" in field)
        assert named["type"] == "bind"
        how = "--ro-bind" if "ro" in fields else "--bind"
        made += view.bind(how, Path(named["source"]), named["destination"])
    assert told.scratch == HOME
    assert told.pwd == WORKSPACE
    made += view.closed()
    for name, value in {**view.environment(), "HOME": "/home/of-the-host", **inside}.items():
        made += ["--setenv", name, value]
    return made


if __name__ == "__main__":
    main(sys.argv[1:])
