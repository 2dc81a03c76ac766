"""In a copy of the contracts: what breaks the released ones is named, what does not passes."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import breaking
import contracts
import pytest

RUN, EVENTS = "firetrial/runner/v1/run.proto", "firetrial/runner/v1/events.proto"
PLAN, CATALOGUE = "firetrial/plan/v1/plan.proto", "firetrial/event/v1/event.proto"
JUDGED = "firetrial/judge/v1/events.proto"
SERVICE = "firetrial/runner/v1/runner_service.proto"
MODEL = "string model = 5;"


@dataclass(frozen=True, slots=True)
class Copy:
    """Contracts of a test's own."""

    proto: Path

    def change(self, file: str, pattern: str, by: str) -> None:
        """Replace what `pattern` finds, once."""
        text, count = re.subn(pattern, by, (self.proto / file).read_text(), count=1, flags=re.MULTILINE)
        assert count == 1, pattern
        (self.proto / file).write_text(text)

    def add(self, file: str, text: str) -> None:
        with (self.proto / file).open("a") as opened:
            opened.write(text)

    @property
    def released(self) -> Path:
        return self.proto / contracts.RELEASED.name

    def told(self) -> str:
        """What the command ends with; empty where it passes."""
        try:
            breaking.main(self.proto, release=False)
        except SystemExit as ended:
            return str(ended.code)
        return ""


@pytest.fixture(scope="module")
def image() -> bytes:
    return contracts.image(comments=False)


@pytest.fixture
def copy(tmp_path: Path, image: bytes) -> Copy:
    """The contracts as they are, released as they are."""
    made = Copy(shutil.copytree(contracts.PROTO, tmp_path / "proto"))
    made.released.write_bytes(image)
    return made


@pytest.mark.parametrize(
    ("file", "pattern", "by", "named"),
    [
        (RUN, rf"^  {MODEL}\n", "", 'field "5" with name "model" on message "Run" was deleted'),
        (RUN, rf"^  {MODEL}\n", "  reserved 5;\n", 'field "5" with name "model"'),
        (RUN, MODEL, "int64 model = 5;", '"5" with name "model" on message "Run" changed type'),
        (RUN, MODEL, "string model_name = 5;", 'changed name from "model" to "model_name"'),
        (RUN, MODEL, "string model = 99;", 'field "5" with name "model" on message "Run"'),
        (RUN, MODEL, "repeated string model = 5;", "cardinality"),
        (RUN, "OUTCOME_CANCELLED = 5;", "OUTCOME_STOPPED = 5;", "OUTCOME_STOPPED"),
        (SERVICE, r"^  rpc GetRun\(", "  rpc FetchRun(", 'RPC "GetRun" on service "RunnerService"'),
        (CATALOGUE, 'json_name = "ce-subject"', 'json_name = "ce-about"', '"ce-subject" to "ce-about"'),
        (CATALOGUE, r"^  string traceparent = 8 .*\n", "", '"traceparent" on message "Headers" was deleted'),
        (EVENTS, 'name: "run_finished"', 'name: "run_over"', "ft.evt.runner.v1.run_finished.{run} any more"),
        (EVENTS, r"^  option .*run_started.*\n", "", "event run_started: nothing is told"),
        (EVENTS, 'kind: "run"', 'kind: "runs"', "ft.work.run.{pool} any more; firetrial.runner.v1.RunReq"),
        (EVENTS, '"runner", "outside"', '"runner"', "event run_work: outside can no longer send it"),
        (JUDGED, 'key: "calibration"', 'key: "judge"', "judge_calibrated.{calibration} any more"),
    ],
)
def test_what_breaks_is_named(copy: Copy, file: str, pattern: str, by: str, named: str) -> None:
    copy.change(file, pattern, by)
    assert named in copy.told()


def test_an_event_that_becomes_another_message_is_named(copy: Copy) -> None:
    option = (copy.proto / EVENTS).read_text().split("message RunStarted {\n")[1].partition("\n")[0]
    copy.change(EVENTS, re.escape(option) + r"\n", "")
    copy.add(EVENTS, f"\n// Another.\nmessage RunBegun {{\n{option}\n  string run_id = 1;\n}}\n")
    said = copy.told()
    assert "its ce-type was firetrial.runner.v1.RunStarted and is firetrial.runner.v1.RunBegun" in said


def test_a_reserved_number_that_is_used_again_is_named(copy: Copy) -> None:
    copy.change(RUN, r"^  string waiting_for = 28;\n", "  string waiting_for = 28;\n  reserved 1000;\n")
    copy.released.write_bytes(contracts.image(copy.proto, comments=False))
    copy.change(RUN, r"^  reserved 1000;\n", "  bytes reused = 1000;\n")
    assert "1000" in copy.told()


def test_what_is_added_passes_and_can_be_released(copy: Copy) -> None:
    copy.change(RUN, r"^  string waiting_for = 28;\n", "  string waiting_for = 28;\n  string mood = 1000;\n")
    copy.change(PLAN, r"^message Slip \{", "message Whim {}\n\nmessage Slip {")
    option = '  option (firetrial.event.v1.fact) = {name: "run_paused", key: "run", services: ["runner"]};\n'
    copy.add(EVENTS, f"\n// It stands still.\nmessage RunPaused {{\n{option}  Run run = 1;\n}}\n")
    assert copy.told() == ""
    breaking.main(copy.proto, release=True)
    copy.change(EVENTS, 'name: "run_paused"', 'name: "run_halted"')
    assert "event run_paused" in copy.told()
    before = copy.released.read_bytes()
    with pytest.raises(SystemExit, match="run_paused"):
        breaking.main(copy.proto, release=True)
    assert copy.released.read_bytes() == before


def test_the_contracts_of_this_checkout_break_nothing() -> None:
    assert breaking.faults(contracts.PROTO, contracts.RELEASED) == []
