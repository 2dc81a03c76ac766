"""Batches as they come: every line is an item or an error, none is lost."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError
from firetrial_parser.selection.candidates import MAX_LINE, NAMES, Candidate, Entry, Format, entries

GOOD = {"id": "a", "title": "Do models count?", "abstract": "We measure it.", "published": "2025-03"}


def read(tmp_path: Path, data: str | bytes, form: Format = "jsonl") -> list[Entry]:
    path = tmp_path / "items"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return list(entries(path, form))


def test_items_come_in_their_order_with_their_fields(tmp_path: Path) -> None:
    lines = [GOOD, {"id": 7, "title": "B", "year": 2024}, {"id": "c", "paper_id": "f" * 64}]
    found = read(tmp_path, "\ufeff" + "\n\n".join(map(json.dumps, lines)))
    assert [(one.place, one.candidate.id, one.error) for one in found] == [
        (1, "a", ""),
        (2, "7", ""),
        (3, "c", ""),
    ]
    assert found[0].candidate == Candidate(**GOOD)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "no JSON"),
        ("[1]", "no JSON object"),
        ("[" * 100_000, "no JSON"),
        ('{"id": "x"}', "title"),
        ('{"id": "x", "error": "its password is not known"}', "its password is not known"),
        ('{"title": "T"}', "id"),
        ('{"id": "x", "title": ["T"]}', "must be a text"),
        ('{"id": "x", "title": true}', "must be a text"),
        ('{"id": "x", "title": "T", "url": "javascript:alert(1)"}', "url"),
        ('{"id": "x", "title": "T", "published": "2024-13"}', "published"),
        (json.dumps({"id": "x" * 201, "title": "T"}), "at most 200"),
        (json.dumps({"id": "x", "title": "T" * MAX_LINE}), "longer than"),
    ],
)
def test_a_bad_line_is_told_and_the_next_is_read(tmp_path: Path, line: str, told: str) -> None:
    bad, good = read(tmp_path, f"{line}\n{json.dumps(GOOD)}\n")
    assert told in bad.error
    assert (bad.place, good.place, good.error) == (1, 2, "")


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    bad, good = read(tmp_path, b'{"id": "\xff"}\n' + json.dumps(GOOD).encode())
    assert "no JSON" in bad.error
    assert not good.error


def test_the_second_of_two_with_one_id_is_an_error(tmp_path: Path) -> None:
    one, two = read(tmp_path, f"{json.dumps(GOOD)}\n{json.dumps(GOOD | {'title': 'Other'})}\n")
    assert not one.error
    assert "earlier item" in two.error


def test_csv_with_quotes_and_line_breaks(tmp_path: Path) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["Title", "ID", "abstract"])
    writer.writerow(['A "quoted", title', "a", "two\nlines"])
    writer.writerow(["B", "b", ""])
    first, second = read(tmp_path, out.getvalue(), "csv")
    assert first.candidate == Candidate("a", 'A "quoted", title', "two\nlines")
    assert second.candidate.id == "b"


def test_bad_rows_of_csv_are_told_and_the_next_is_read(tmp_path: Path) -> None:
    rows = ["id,title", 'a,"B"x', "b,B,C", f"c,{'x' * (MAX_LINE + 5)}", "d,D"]
    found = read(tmp_path, "\n".join(rows), "csv")
    assert [bool(one.error) for one in found] == [True, True, True, False]
    assert found[-1].candidate == Candidate("d", "D")


def test_csv_without_its_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError, match="columns id and title"):
        read(tmp_path, "name,title\na,b\n", "csv")


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=20)), max_size=20))
def test_as_many_come_out_as_lines_went_in(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]]
) -> None:
    found = read(tmp_path_factory.mktemp("items"), "\n".join(map(json.dumps, rows)))
    assert [one.place for one in found] == list(range(1, len(rows) + 1))
    for row, entry in zip(rows, found, strict=True):
        assert entry.error or entry.candidate.id == row["id"]


def test_memory_does_not_grow_with_the_batch(tmp_path: Path) -> None:
    path = tmp_path / "items"

    def peak(items: int) -> int:
        with path.open("w") as file:
            for number in range(items):
                file.write(json.dumps(GOOD | {"id": str(number), "abstract": "word " * 300}) + "\n")
        tracemalloc.start()
        count = sum(1 for _ in entries(path, "jsonl"))
        peaked = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == items
        return peaked

    # 4,500 more items of 1.6 kB are 7 MB; what may grow is the set of ids alone.
    assert peak(5_000) - peak(500) < 1_000_000
