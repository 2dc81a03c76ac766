import json

import pytest

from firetrial_analyzer.taxonomy.catalogue import ErrorType, FalsePositiveKind, load, read
from firetrial_analyzer.taxonomy.signals import RULES
from firetrial_kit.errors import FiretrialError


def document() -> dict[str, list[dict[str, object]]]:
    taxonomy = load()
    return {
        "schema": "firetrial.taxonomy/1",  # type: ignore[dict-item] # a text among lists, as in the file
        "version": taxonomy.version,  # type: ignore[dict-item]
        "stages": [{"id": s.id, "name": s.name, "definition": s.definition} for s in taxonomy.stages],
        "error_types": [
            {
                "id": t.id,
                "name": t.name,
                "definition": t.definition,
                "stage": t.stage,
                "signals": list(t.signals),
            }
            for t in taxonomy.error_types
        ],
        "false_positive_kinds": [
            {"id": k.id, "name": k.name, "definition": k.definition} for k in taxonomy.false_positive_kinds
        ],
    }


def faults(given: object) -> list[str]:
    with pytest.raises(FiretrialError) as caught:
        read(json.dumps(given))
    return [fault.field for fault in caught.value.faults]


def test_five_stages_twelve_types_four_kinds() -> None:
    taxonomy = load()
    assert [stage.name for stage in taxonomy.stages] == [
        "Research planning", "Implementation", "Execution", "Analysis and conclusion", "System",
    ]  # fmt: skip
    assert [leaf.id for leaf in taxonomy.error_types] == list(ErrorType)
    assert [kind.id for kind in taxonomy.false_positive_kinds] == list(FalsePositiveKind)
    assert taxonomy.stage_of("LAZINESS").id == "EXECUTION"
    assert taxonomy.stage_of("TIMEOUT").id == "SYSTEM"
    order = [taxonomy.stage_of(leaf.id).id for leaf in taxonomy.error_types]
    assert list(dict.fromkeys(order)) == [stage.id for stage in taxonomy.stages]


def test_every_type_but_one_names_the_signals_that_settle_it() -> None:
    taxonomy = load()
    named = {name for leaf in taxonomy.error_types for name in leaf.signals}
    rules = {rule.__name__ for rule in RULES} - {"unresolved"}
    assert rules <= named
    assert [leaf.id for leaf in taxonomy.error_types if not leaf.signals] == ["GOAL_DEVIATION"]


def test_a_taxonomy_of_ones_own() -> None:
    assert read(json.dumps(document())) == load()


def test_every_fault_is_told_at_once() -> None:
    given = document()
    given["schema"] = "other"  # type: ignore[assignment]
    given["stages"][0]["definition"] = " "
    given["error_types"][0]["stage"] = "NOWHERE"
    given["error_types"][1]["id"] = "LAZINESS"
    given["error_types"][2]["signals"] = "x"
    given["false_positive_kinds"] = []
    assert faults(given) == [
        "schema", "stages[0].definition", "error_types[0].stage", "error_types[2].signals",
        "false_positive_kinds", "error_types", "error_types", *["false_positive_kinds"] * 4,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stages": [3]}'])
def test_what_is_no_taxonomy_is_refused(text: str) -> None:
    with pytest.raises(FiretrialError):
        read(text)


@pytest.mark.parametrize("version", ["2", "", "../taxonomy/taxonomy-1", "1.json"])
def test_an_unknown_version_is_refused(version: str) -> None:
    with pytest.raises(FiretrialError) as caught:
        load(version)
    assert [fault.field for fault in caught.value.faults] == ["version"]
