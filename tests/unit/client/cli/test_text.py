"""Nothing that a stranger wrote reaches the terminal as a command."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_client.cli.text import safe, show_error


@given(st.text())
def test_no_control_code_is_left(text: str) -> None:
    shown = safe(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in shown)
    shown.encode()


def test_what_is_harmless_stays() -> None:
    assert safe("naïve 日本 ± 🎉 e\u0301") == "naïve 日本 ± 🎉 e\u0301"
    assert safe("a\tb\nc", keep="\n\t") == "a\tb\nc"
    assert safe("\x1b[31m\u202egpj.exe\r\ud800") == "\\x1b[31m\\u202egpj.exe\\r\\ud800"


def test_errors_with_several_faults_are_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    faults = [
        {"field": "agents", "description": "is empty"},
        {"field": "repeats", "description": "repeats is 0"},
    ]
    show_error({"reason": "INVALID", "message": "the plan is not valid: …", "faults": faults}, as_json=False)
    assert capsys.readouterr().err.splitlines() == [
        "Error: the plan is not valid:", "  agents is empty", "  repeats is 0",
    ]  # fmt: skip
