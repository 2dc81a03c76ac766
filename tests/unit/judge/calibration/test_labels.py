"""People's labels: three kinds of rows, two formats, every fault at once."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.calibration.labels import Item, read_labels
from firetrial_judge.claims import Kind
from firetrial_judge.verdict import Verdict
from firetrial_kit.errors import FiretrialError, Reason


def jsonl(*rows: object) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def verdict(id_: object = "1", **changed: object) -> dict[str, object]:
    row = {"id": id_, "reference": "Noise lowers accuracy.", "claim": "Accuracy falls.", "label": "entailed"}
    return row | changed


def test_verdicts_of_several_raters_are_one_item() -> None:
    rows = [
        verdict(rater=name, label=label)
        for name, label in [("a", "entailed"), ("b", "NEUTRAL"), ("c", "Entailed")]
    ]
    (item,) = read_labels(jsonl(*rows))
    assert item.labels == (("a", Verdict.ENTAILED), ("b", Verdict.NEUTRAL), ("c", Verdict.ENTAILED))
    assert item.label is Verdict.ENTAILED
    assert item.kind is Kind.DIRECTIONAL


def test_a_tie_has_no_label() -> None:
    rows = [verdict(rater="a"), verdict(rater="b", label="contradiction"), verdict(rater="c", label="")]
    (item,) = read_labels(jsonl(*rows))
    assert item.label is None
    assert len(item.labels) == 2


def test_csv_and_json_lines_say_the_same() -> None:
    csv = (
        b'id,premise,hypothesis,label,rater\r\n1,"Noise lowers accuracy.",Accuracy falls.,entailed,a\r\n\r\n'
    )
    assert read_labels(csv) == read_labels(jsonl(verdict(rater="a")))
    assert read_labels(b"\xef\xbb\xbf" + csv) == read_labels(csv)


def test_matches_become_verdicts_of_both_sides() -> None:
    row = {"id": "x", "claims": ["A rises.", "B falls."], "others": ["A goes up."], "matches": [[1, 1]]}
    items = read_labels(jsonl(row))
    assert [(item.id, item.label) for item in items] == [
        ("x/claims/1", Verdict.ENTAILED),
        ("x/claims/2", Verdict.NEUTRAL),
        ("x/others/1", Verdict.ENTAILED),
    ]
    assert items[2].reference == "A rises.\nB falls."


def test_claims_of_a_conclusion_are_said_in_it() -> None:
    items = read_labels(jsonl({"id": 7, "conclusion": "A rises and B falls.", "claims": ["A rises."]}))
    assert items == [
        Item("7/said/1", "A rises and B falls.", "A rises.", Kind.DIRECTIONAL, (("", Verdict.ENTAILED),))
    ]


def test_every_fault_is_told_with_its_line_and_field() -> None:
    rows = jsonl(
        verdict(id_=None, label="perhaps"),
        verdict("2", claim=" ", kind="long"),
        {"id": 3, "claims": ["a b c"], "others": ["d e f"], "matches": [[1, 2]]},
        verdict("4"),
        verdict("4"),
        verdict("4", rater="b", claim="Another claim."),
        [1],
    )
    with pytest.raises(FiretrialError) as refused:
        read_labels(rows + b"\n{")
    assert refused.value.reason is Reason.INVALID
    assert [fault.field for fault in refused.value.faults] == [
        "line 1, id",
        "line 1, label",
        "line 2, claim",
        "line 2, kind",
        "line 3, matches",
        "line 5, rater",
        "line 6, id",
        "line 7",
        "line 8",
    ]


@pytest.mark.parametrize(
    ("table", "field"),
    [
        (b"", "line 1"),
        (b"id,claim\n1,x", "line 1"),
        (b"reference,claim,label\na,b", "line 2"),
        (b"reference,claim,label\n", "labels"),
    ],
)
def test_a_table_that_is_none_is_refused(table: bytes, field: str) -> None:
    with pytest.raises(FiretrialError) as refused:
        read_labels(table)
    assert refused.value.faults[0].field == field


ANYTHING = st.binary(max_size=200) | st.text('{}[]",:\n\r idclamtchesx1\\', max_size=120).map(str.encode)


@given(ANYTHING)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    found: list[Item] = []
    with contextlib.suppress(FiretrialError):  # and nothing else
        found = read_labels(data)
    assert all(item.claim.strip() and item.reference.strip() for item in found)
