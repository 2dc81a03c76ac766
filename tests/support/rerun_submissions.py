"""Runs the programs of the executed submissions and writes down what they print: their logs are real ones.

python tests/support/rerun_submissions.py FILE.yaml     puts `ran` (and `ran_dishonest`) anew into the file

Only these are generated; tasks, code and papers are written by hand. Times differ from run to run, so papers
that tell of times (`sorts`, `duplicates`) have to be read again afterwards.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

yaml: Any = importlib.import_module("yaml")  # ships no types


class _Text(str):
    """A text that is written with its lines below each other."""

    __slots__ = ()


def executed(code: dict[str, str], commands: list[str]) -> list[list[str]]:
    """[command, what it printed], with the commands run one after another in a folder that has the code."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in code.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(text)
        return [[command, _printed(command, folder)] for command in commands]


def _printed(command: str, folder: str) -> str:
    shown = command.replace("python3", sys.executable, 1)
    ended = subprocess.run(  # noqa: S602 - commands of our own, as a person would type them
        shown, shell=True, cwd=folder, capture_output=True, text=True, timeout=300, check=True
    )
    return ended.stdout


def rerun(entries: list[dict[str, Any]]) -> None:
    """Put what was printed into the entries."""
    for entry in entries:
        for code, ran in (("code", "ran"), ("code_dishonest", "ran_dishonest")):
            if ran in entry:
                commands = [command for command, *_ in entry[ran]]
                entry[ran] = executed({**entry["code"], **entry.get(code, {})}, commands)


def written(entries: list[dict[str, Any]]) -> str:
    """The entries as a file holds them."""
    yaml.add_representer(_Text, _shown)
    head = "# `ran...` is generated (tests/support/rerun_submissions.py), the rest is written by hand.\n"
    return head + str(yaml.dump(_texts(entries), sort_keys=False, allow_unicode=True, width=110))


def _shown(dumper: Any, text: _Text) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return _Text(value) if isinstance(value, str) and "\n" in value else value


if __name__ == "__main__":
    for name in sys.argv[1:]:
        read = yaml.safe_load(Path(name).read_text())
        rerun(read)
        Path(name).write_text(written(read))
