from __future__ import annotations

import json
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_operate.access import environment, settings

BOTH = {"FIRETRIAL_NATS_URL": "nats://here:4222", "FIRETRIAL_OBJECTS_URL": "file:///objects"}


def test_the_environment_says_which_installation() -> None:
    assert environment(BOTH) == BOTH


@pytest.mark.parametrize("name", BOTH)
def test_half_an_installation_is_refused(name: str) -> None:
    with pytest.raises(FiretrialError) as caught:
        environment({name: BOTH[name]})
    assert caught.value.reason is Reason.INVALID
    assert [fault.field for fault in caught.value.faults] == [next(iter({*BOTH} - {name}))]


def test_else_that_of_this_machine(tmp_path: Path) -> None:
    home = {"FIRETRIAL_HOME": str(tmp_path)}
    with pytest.raises(FiretrialError, match="firetrial up"):
        environment(home)
    (tmp_path / "run").mkdir()
    told = {**BOTH, "FIRETRIAL_NATS_PASSWORD": "never shown"}
    (tmp_path / "run" / "operator.json").write_text(json.dumps(told))
    found = settings(home)
    assert (found.nats_url, found.objects_url) == tuple(BOTH.values())
    assert "never shown" not in repr(found)


def test_settings_that_are_wrong_are_all_named() -> None:
    with pytest.raises(FiretrialError, match="FIRETRIAL_OBJECTS_URL"):
        settings({**BOTH, "FIRETRIAL_OBJECTS_URL": "ftp://x"})
