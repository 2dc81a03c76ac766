"""What a follow-up run has: a paper with code and data to begin from, and folders for what is handed in."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firetrial_kit.objects import ObjectRef
from firetrial_runner import archive
from firetrial_runner.conclusion import MAX_BYTES
from firetrial_runner.stoppable import Check, in_thread
from firetrial_runner.workspace import Workspace

SOURCE, PAPER, CODE, LOGS = "source", "paper", "code", "logs"
MANIFEST = "manifest.json"
SCHEMA = "firetrial.submission/1"
_PAPERS = ("paper.md", "paper.tex", "paper.txt", "main.tex")
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FollowUp:
    """`source` is a tar of paper, code and data; None where there is nothing to begin from."""

    source: ObjectRef | None


async def prepare(
    follow_up: FollowUp, workspace: Workspace, fetch: Callable[[ObjectRef, Path], Awaitable[Path]]
) -> Workspace:
    """Lay out the source and the folders to fill. Raises INVALID for a bad tar."""
    place = workspace.folder / "incoming" / "source.tar"
    tar = await fetch(follow_up.source, place) if follow_up.source else None

    def lay(go_on: Check) -> None:
        for name in (PAPER, CODE):
            (workspace.files / name).mkdir(exist_ok=True)
        if tar is not None:
            archive.unpack(tar, workspace.files / SOURCE, archive.DATA, go_on)
            tar.unlink()

    await in_thread(lay)
    return replace(workspace, given=workspace.given | {SOURCE})


def paper(files: Path) -> str:
    """The paper's text, which the run concludes with; empty where there is none. No link is followed."""
    folder = files / PAPER
    if folder.is_symlink() or not folder.is_dir():
        return ""
    for name in _PAPERS:
        try:
            opened = archive.open_regular(folder / name)
        except OSError:
            continue
        if opened is not None:
            with opened as file:
                if text := file.read(MAX_BYTES).decode(errors="replace").strip():
                    return text
    return ""


def manifest(artifacts: Path, trajectory: str) -> bytes:
    """What was handed in, file by file, from the tar that is kept; JSON.

    No file is evidence: an agent writes all of them. The log is the trajectory, which the runner writes.
    """
    told = {
        "schema": SCHEMA,
        "files": list(_files(artifacts)),
        "log": {"trajectory": trajectory, "by": "runner", "evidence": True},
    }
    return json.dumps(told, ensure_ascii=True, indent=1).encode()


def _files(artifacts: Path) -> Iterator[dict[str, Any]]:
    with tarfile.open(artifacts, "r:") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is None:
                continue
            found = hashlib.sha256()
            while piece := content.read(_PIECE):
                found.update(piece)
            yield {
                "path": member.name,
                "size": member.size,
                "sha256": found.hexdigest(),
                "part": _part(member.name),
                "evidence": False,
            }


def _part(name: str) -> str:
    top = name.partition("/")[0]
    return {PAPER: "paper", CODE: "code", LOGS: "written by the agent"}.get(top, "other")
