"""The rows of a report as CSV and Parquet, over ordinary and hostile runs."""

from __future__ import annotations

import csv
import io
import random
import re
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.columns import COLUMNS, SCHEMA, frame, outcome, row
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.parts import parquet, read
from firetrial_analyzer.render import TABULAR, Format, render_rows
from firetrial_kit.errors import FiretrialError, Reason
from unit.analyzer import sample


def rows(*items: AnalysedRun) -> pl.DataFrame:
    return frame([row(item) for item in items or sample.runs()])


def in_csv(table: pl.DataFrame) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_rows(table, Format.CSV).decode(), newline="")))


@pytest.mark.parametrize("form", sorted(TABULAR))
def test_the_same_rows_give_the_same_bytes_in_whatever_order(form: Format) -> None:
    items = sample.runs()
    shuffled = random.Random(5).sample(items, len(items))  # noqa: S311 - a shuffle, no secret
    assert render_rows(rows(*items), form) == render_rows(rows(*shuffled), form)


def test_both_formats_have_every_attempt_with_the_same_columns() -> None:
    table = pl.read_parquet(io.BytesIO(render_rows(rows(), Format.PARQUET)))
    written = in_csv(rows())
    assert table.schema == pl.Schema(COLUMNS)
    assert list(written[0]) == list(COLUMNS)
    assert len(table) == len(written) == 10
    assert table["run_id"].to_list() == [told["run_id"] for told in written]
    assert pl.read_parquet_metadata(io.BytesIO(parquet(table)))["schema"] == SCHEMA


def test_what_is_unknown_is_empty_and_never_0() -> None:
    careful, bare, failed = (told for n, told in enumerate(in_csv(rows())) if n in (0, 3, 7))
    assert (careful["f1"], careful["usd"], careful["gpu_seconds"]) == ("1.0", "0.0123", "")
    assert (bare["usd"], bare["claims_neutral"], bare["claims_unscored"]) == ("", "1", "1")
    assert (failed["f1"], failed["claims_neutral"], failed["judged_at"]) == ("", "", "")
    assert careful["started_at"] == "2026-01-05T09:01:00.000000Z"


def test_a_run_goes_into_a_row_and_comes_out_of_it_again() -> None:
    table = read(parquet(rows()))
    for item, told in zip(sample.runs(), table.iter_rows(named=True), strict=True):
        assert outcome(told) == item.run


def test_a_run_that_was_judged_twice_has_its_latest_judgement() -> None:
    first = sample.runs()[0]
    assert first.judgement
    later = replace(first.judgement, judged_at=sample.START)
    again = replace(first, judgement_id="j-2", judgement=later, run=replace(first.run, f1=0.5))
    (told,) = in_csv(rows(again, first))
    assert (told["judgement_id"], told["f1"]) == ("j-2", "0.5")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " =", "＝", "%", "|"])
def test_csv_never_starts_a_formula(start: str) -> None:
    text = f"{start}1+cmd"
    item = sample.runs()[0]
    assert item.judgement
    run = replace(
        item.run, run_id=text, experiment=text, task=text, agent=text, model=text, reason=text, ending=text
    )
    judge = replace(sample.JUDGE, model=text, quality=text, calibration_id=text)
    hostile = replace(
        item, run=run, judge=judge, judgement_id=text, judgement=replace(item.judgement, flags=(text, text))
    )
    (told,) = in_csv(rows(hostile))
    assert not [cell for cell in told.values() if re.match(r"\s*[=+\-@＝＋－＠%|]", cell)]


@given(st.text(max_size=60))
def test_any_text_stays_in_its_cell(text: str) -> None:
    run = replace(sample.outcome("x@1", 1, Outcome.AGENT_FAILED, reason=text), ending=text)
    (told,) = in_csv(rows(AnalysedRun(run)))
    assert list(told) == list(COLUMNS)
    assert told["ending"] == told["reason"]
    assert not re.search(r"[\x00-\x1f\x7f\u202e]", told["reason"])
    assert told["outcome"] == "AGENT_FAILED"


def test_a_very_long_text_is_cut_in_its_row() -> None:
    long = AnalysedRun(sample.outcome("x@1", 1, Outcome.AGENT_FAILED, reason="x" * 100_000))
    (told,) = in_csv(rows(long))
    assert len(told["reason"]) < 500
    assert told["reason"].endswith("… [cut]")


def test_a_table_without_a_column_of_ours_is_read_with_nulls() -> None:
    older = io.BytesIO()
    rows().drop("fingerprint").write_parquet(older)
    assert read(older.getvalue())["fingerprint"].null_count() == 10


@pytest.mark.parametrize("data", [b"", b"PAR1", b"forged" * 100])
def test_what_is_no_table_is_corrupt(data: bytes) -> None:
    with pytest.raises(FiretrialError) as error:
        read(data)
    assert error.value.reason is Reason.CORRUPT
