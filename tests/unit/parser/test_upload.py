from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_parser.upload import check_tar
from support.tars import special, tarred

NESTED = special("x", tarfile.GNUTYPE_LONGNAME).tobuf() * 5_000  # each header announces the next one


@pytest.mark.parametrize("data", [b"no tar", tarred(("../up", b"1")), tarred(("/abs", b"1")), NESTED])
def test_a_hostile_or_broken_tar_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "data.tar").write_bytes(data)
    with pytest.raises(FiretrialError) as error:
        check_tar(tmp_path / "data.tar")
    assert error.value.faults


def test_plain_files_are_taken(tmp_path: Path) -> None:
    (tmp_path / "data.tar").write_bytes(tarred(("a/b.json", b"{}")))
    check_tar(tmp_path / "data.tar")
