"""What an operator is shown of a message that a stranger may have written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial.runner.v1.events_pb2 import RunFinished
from firetrial_kit.dead import HEADER, MAX_DATA, Letter, letter, outgoing, read
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_operate.admin.dead import decoded

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def made(data: bytes, headers: dict[str, str], error: str = "no") -> Letter:
    return letter(
        consumer="judge-run_finished",
        stream="FT_EVT",
        sequence=7,
        subject="ft.evt.runner.v1.run_finished.r-1",
        headers=headers,
        data=data,
        deliveries=3,
        sent_at=NOW,
        error=FiretrialError(Reason.INVALID, error),
        at=NOW,
    )


@given(st.binary(max_size=64), st.dictionaries(st.text(max_size=8), st.text(max_size=8)), st.text())
def test_a_letter_is_read_as_it_was_sent(data: bytes, headers: dict[str, str], error: str) -> None:
    kept = made(data, headers, error)
    sent = outgoing(kept)
    assert sent.headers[HEADER].isascii()
    assert not {"\r", "\n"} & {*sent.headers[HEADER]}
    assert read(sent.headers, sent.data) == kept


def test_what_is_larger_than_a_letter_is_cut_and_says_so() -> None:
    kept = made(bytes(MAX_DATA + 1), {"x": "y" * 100_000})
    assert (len(kept.data), kept.size, kept.whole, kept.headers) == (MAX_DATA, MAX_DATA + 1, False, {})
    assert made(b"", {}).whole


@pytest.mark.parametrize("headers", [{}, {HEADER: "{"}, {HEADER: "[]"}, {HEADER: '{"at": 1, "sent_at": 2}'}])
def test_what_is_no_letter_is_corrupt(headers: dict[str, str]) -> None:
    with pytest.raises(FiretrialError) as caught:
        read(headers, b"")
    assert caught.value.reason is Reason.CORRUPT


def test_a_message_is_decoded_by_its_type() -> None:
    event = RunFinished()
    event.run.id = "r-1"
    told = decoded(made(event.SerializeToString(), {"ce-type": "firetrial.runner.v1.RunFinished"}))
    assert told["message"]["run"]["id"] == "r-1"


@pytest.mark.parametrize(
    "type_",
    ["", "os.system", "firetrial.runner.v1", "firetrial.runner.v1.Nobody", "firetrial.nobody.v1.RunFinished",
     "firetrial.runner.v1.RunFinished\n", "firetrial_runner.main.main", "firetrial..v1.X"],
)  # fmt: skip
def test_of_any_other_type_the_bytes_are_shown_in_ascii(type_: str) -> None:
    told = decoded(made(b"\xff\x1b[2J", {"ce-type": type_}))
    assert told == {"type": type_, "bytes": "\\xff\x1b[2J"}


def test_bytes_that_are_no_message_are_shown_as_bytes() -> None:
    told = decoded(made(b"\xff\xff\xff", {"ce-type": "firetrial.runner.v1.RunFinished"}))
    assert "message" not in told
