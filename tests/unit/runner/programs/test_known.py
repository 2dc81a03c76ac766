"""Names of programs, as agents tell them."""

import pytest

from firetrial_runner import programs


@pytest.mark.parametrize(
    "told", ["", "codex@0.171.0", "codex@1.0.0-rc.1", "openhands@1.16.0", "reference", "replay"]
)
def test_names_that_are_right(told: str) -> None:
    assert list(programs.faults(told)) == []


@pytest.mark.parametrize(
    "told", ["codex", "openhands", "codex@", "reference@1", "vim", "codex@../x", "Codex@1", " codex@1", "@1"]
)
def test_names_that_are_wrong_say_which_there_are(told: str) -> None:
    (fault,) = programs.faults(told)
    assert (fault.field, fault.value) == ("program", told)
    assert "codex@0.171.0" in fault.cure


def test_what_is_not_known_is_no_program() -> None:
    assert programs.known("") is None
    assert programs.known("vim@9") is None
