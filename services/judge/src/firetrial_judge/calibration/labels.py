"""People's labels, read from CSV or JSON lines, as claims with references and what people said of them.

Three kinds of rows, told apart by their fields (CSV holds the first kind only):

    verdicts  {"id", "reference", "claim", "label"}, with "rater" where several people labelled one claim
    claims    {"id", "conclusion", "claims": [text…]}: what people found said in a conclusion
    matches   {"id", "claims": [text…], "others": [text…], "matches": [[place, place]…]}, places from 1

"premise" and "hypothesis" are read as "reference" and "claim". A label is entailed, contradicted (or
contradiction) or neutral, in any case, or empty where a rater gave none.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firetrial_judge.claims import Kind, kind_of
from firetrial_judge.verdict import Verdict
from firetrial_kit.errors import Fault, check

MOST_ITEMS = 20_000
_MOST_FAULTS = 50
_SHOWN = 60
_LABELS = {
    "entailed": Verdict.ENTAILED,
    "entailment": Verdict.ENTAILED,
    "contradicted": Verdict.CONTRADICTED,
    "contradiction": Verdict.CONTRADICTED,
    "neutral": Verdict.NEUTRAL,
}
_NAMES = {"premise": "reference", "hypothesis": "claim", "verdict": "label"}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """A claim with its reference, and the label that each rater gave it."""

    id: str
    reference: str
    claim: str
    kind: Kind
    labels: tuple[tuple[str, Verdict], ...]

    @property
    def label(self) -> Verdict | None:
        """What most raters said; None where none of the labels leads."""
        counts = Counter(verdict for _, verdict in self.labels).most_common(2)
        if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
            return None
        return counts[0][0]


def read_labels(data: bytes) -> list[Item]:
    """The items in the order of their first rows. Raises INVALID with every fault, by its line and field."""
    faults: list[Fault] = []
    text = str(data, "utf-8", "replace").removeprefix("\ufeff")
    items: dict[str, Item] = {}
    for where, row in _rows(text, faults):
        found = [Fault(f"{where}, {field}", value[:_SHOWN], cure) for field, value, cure in _faults(row)]
        faults += found
        if not found:
            for item in _items(row):
                faults += _add(items, item, where)
    if not items and not faults:
        faults.append(Fault("labels", "", "must hold at least one labelled claim"))
    if len(items) > MOST_ITEMS:
        faults.append(Fault("labels", str(len(items)), f"must be at most {MOST_ITEMS} claims"))
    check("the labels", faults[:_MOST_FAULTS])
    return list(items.values())


def _rows(text: str, faults: list[Fault]) -> Iterator[tuple[str, Row]]:
    if not text.lstrip().startswith("{"):
        yield from _table(text, faults)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.append(Fault(f"line {number}", line[:_SHOWN], f"must be a JSON object: {error}"))
            continue
        if isinstance(row, dict):
            yield f"line {number}", {_NAMES.get(str(name), str(name)): value for name, value in row.items()}
        else:
            faults.append(Fault(f"line {number}", line[:_SHOWN], "must be a JSON object"))


def _table(text: str, faults: list[Fault]) -> Iterator[tuple[str, Row]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        head = [_NAMES.get(name.strip().lower(), name.strip().lower()) for name in next(reader, [])]
        missing = [name for name in ("reference", "claim", "label") if name not in head]
        if missing:
            faults.append(
                Fault("line 1", ",".join(head)[:_SHOWN], f"must name the columns {', '.join(missing)}")
            )
            return
        for cells in reader:
            where = f"line {reader.line_num}"
            if cells and len(cells) != len(head):
                faults.append(Fault(where, str(len(cells)), f"must have {len(head)} cells"))
            elif cells:
                row: dict[str, Any] = dict(zip(head, cells, strict=True))
                yield where, {"id": f"{reader.line_num}"} | {k: v for k, v in row.items() if k != "id" or v}
    except csv.Error as error:
        faults.append(Fault(f"line {reader.line_num}", "", f"must be CSV: {error}"))


def _faults(row: Row) -> Iterator[tuple[str, str, str]]:
    """Field, value and cure of what is wrong with a row."""
    id_ = row.get("id")
    if isinstance(id_, bool) or not isinstance(id_, (str, int)) or not str(id_).strip():
        yield "id", _shown(id_), "must be a text or a number"
    for name, holds, cure in _shape(row):
        if not holds(row.get(name)):
            yield name, _shown(row.get(name)), cure
    if "matches" in row and _is_texts(row.get("claims")) and _is_texts(row.get("others")):
        sizes = len(row["claims"]), len(row["others"])
        if not _is_matches(row["matches"], sizes):
            yield (
                "matches",
                _shown(row["matches"]),
                f"must be pairs of places up to {sizes[0]} and {sizes[1]}",
            )


def _shape(row: Row) -> list[tuple[str, Callable[[Any], bool], str]]:
    texts = "must be a list of texts that are not empty"
    text = "must be a text that is not empty"
    if "matches" in row:
        return [("claims", _is_texts, texts), ("others", _is_texts, texts)]
    if "claims" in row:
        return [("conclusion", _is_text, text), ("claims", _is_texts, texts)]
    return [
        ("reference", _is_text, text),
        ("claim", _is_text, text),
        ("label", _is_label, "must be entailed, contradicted or neutral"),
        ("rater", lambda value: value is None or isinstance(value, str), "must be a text"),
        ("kind", lambda value: value in {None, "", *Kind}, f"must be one of {', '.join(Kind)}"),
    ]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in {"", *_LABELS}


def _is_matches(value: Any, sizes: tuple[int, int]) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(type(at) is int and 1 <= at <= size for at, size in zip(pair, sizes, strict=True))
        for pair in value
    )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _items(row: Row) -> list[Item]:
    id_ = str(row["id"])
    if "matches" in row:
        return [
            *_matched(f"{id_}/claims", row["claims"], row["others"], {a for a, _ in row["matches"]}),
            *_matched(f"{id_}/others", row["others"], row["claims"], {b for _, b in row["matches"]}),
        ]
    if "claims" in row:
        everything = set(range(1, len(row["claims"]) + 1))
        return _against(f"{id_}/said", row["claims"], row["conclusion"], everything)
    label = _LABELS.get(row["label"].strip().lower())
    given = ((row.get("rater") or "", label),) if label else ()
    kind = Kind(row["kind"]) if row.get("kind") else kind_of(row["claim"])
    return [Item(id_, row["reference"], row["claim"], kind, given)]


def _matched(id_: str, claims: Sequence[str], others: Sequence[str], matched: set[int]) -> list[Item]:
    return _against(id_, claims, "\n".join(" ".join(other.split()) for other in others), matched)


def _against(id_: str, claims: Sequence[str], reference: str, entailed: set[int]) -> list[Item]:
    """Claims that people found in a text, or did not: what is not entailed counts as neutral."""
    return [
        Item(
            f"{id_}/{place}",
            reference,
            claim,
            kind_of(claim),
            (("", Verdict.ENTAILED if place in entailed else Verdict.NEUTRAL),),
        )
        for place, claim in enumerate(claims, 1)
    ]


def _add(items: dict[str, Item], item: Item, where: str) -> list[Fault]:
    """Add an item, or a further rater's label to one that is there."""
    known = items.get(item.id)
    if known is None:
        items[item.id] = item
        return []
    if (known.reference, known.claim) != (item.reference, item.claim):
        return [Fault(f"{where}, id", item.id[:_SHOWN], "must not name two different claims")]
    raters = {rater for rater, _ in known.labels}
    if any(rater in raters for rater, _ in item.labels):
        return [Fault(f"{where}, rater", item.labels[0][0], "must label a claim once")]
    items[item.id] = Item(known.id, known.reference, known.claim, known.kind, known.labels + item.labels)
    return []
