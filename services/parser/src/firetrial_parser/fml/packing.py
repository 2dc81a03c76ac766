"""A complete definition as the tar that is submitted: its repository with the files put in place."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import IO

from firetrial_parser.fml.task import Definition
from firetrial_parser.kinds.parcel import FILES, SOURCE

_LEFT_OUT = frozenset({".git", "__pycache__"})


def pack(root: Path, told: Definition, out: IO[bytes]) -> None:
    """Write the parts. Links of the repository are left out: they may lead anywhere."""
    repository, own = root / told.folder, root / "ml_tasks" / told.name
    source = {
        path.relative_to(repository).as_posix(): path
        for path in sorted(repository.rglob("*"))
        if path.is_file() and not path.is_symlink() and not _LEFT_OUT & {*path.relative_to(repository).parts}
    }
    for target in told.repository.targets:
        if target not in source:
            source[target] = own / target
    source |= {file.path: root / file.origin for file in told.placed}
    sealed = {file.path: root / file.origin for file in told.sealed} if told.repository.test else {}
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for part, found in ((SOURCE, source), (FILES, sealed)):
            for name, path in sorted(found.items()):
                member = tarfile.TarInfo(f"{part}/{name}")
                member.size, member.mode = path.stat().st_size, path.stat().st_mode & 0o755
                with path.open("rb") as file:
                    tar.addfile(member, file)
