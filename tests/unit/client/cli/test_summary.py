"""The table at the end says what the analyzer's report says."""

import pytest

from firetrial_client import FiretrialError
from firetrial_client.cli.summary import Score, show, summarize
from unit.client.cli.documents import IMPROVED, NOTHING, SCORED


def test_rows_are_read_from_the_report() -> None:
    careful, hasty = summarize(SCORED).rows
    assert (careful.agent, careful.f1, careful.counted, careful.total) == (
        "careful@1", Score(0.75, 0.25), 2, 2,
    )  # fmt: skip
    assert (hasty.agent, hasty.f1, hasty.counted, hasty.total) == ("hasty@2", Score(0.0, 0.0), 1, 2)
    assert hasty.outcomes == {"agent_failed": 1, "infra_failed": 1}
    assert careful.wall_seconds == 2.5
    assert summarize(SCORED).offline
    assert (summarize(SCORED).scored, summarize(NOTHING).scored) == (2, 0)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    show(summarize(SCORED))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "AGENT", "F1", "PRECISION", "RECALL", "COUNTED", "OUTCOMES", "WALL", "TIME",
    ]  # fmt: skip
    assert "75.0 ± 25.0" in lines[1]
    assert "2 of 2 runs" in lines[1]
    assert "2 scored" in lines[1]
    assert "1 of 2 runs" in lines[2]
    assert "1 agent_failed, 1 infra_failed" in lines[2]
    assert "1 × INFRA_FAILED: the sandbox \\x1b[31mvanished" in lines
    assert "not a benchmark score" in lines[-1]


def test_what_does_not_count_is_undefined(capsys: pytest.CaptureFixture[str]) -> None:
    show(summarize(NOTHING))
    assert "undefined" in capsys.readouterr().out


@pytest.mark.parametrize("text", [b"", b"[]", b'{"schema": "firetrial.report/2"}', b'{"agents": []}'])
def test_another_document_is_refused(text: bytes) -> None:
    with pytest.raises(FiretrialError, match=r"firetrial\.report/2") as caught:
        summarize(text)
    assert caught.value.reason == "CORRUPT"


def test_improvements_are_told_under_their_name(capsys: pytest.CaptureFixture[str]) -> None:
    show(summarize(IMPROVED))
    head, first, second = capsys.readouterr().out.splitlines()[:3]
    assert head.split() == ["AGENT", "NORMALIZED", "IMPROVEMENT", "COUNTED", "OUTCOMES", "WALL", "TIME"]
    assert first.split()[:2] == ["tuner@1", "40.0"]
    # A failed agent counts as 0 here, too.
    assert second.split()[:2] == ["breaker@2", "0.0"]
