"""Screening and review as people and programs call for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1 import review_pb2, screening_pb2
from unit.client.cli.conftest import Call
from unit.client.fakes import LIMIT, World

ITEMS = '{"id": "a", "title": "Do models count?"}\n'


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_text(ITEMS)
    return path


# ---- screening


def test_a_batch_is_handed_in_followed_and_what_is_kept_is_listed(
    firetrial: Call, world: World, items: Path
) -> None:
    shown = firetrial("papers", "screen", str(items), "--max-cost", "1.5", "--offline")
    header = world.headers[-1]
    assert (header.format, header.size) == (screening_pb2.SCREENING_FORMAT_JSONL, len(ITEMS))
    assert (header.max_cost_usd, header.offline, header.retry_errors) == (1.5, True, False)
    assert world.uploads[-1] == ITEMS.encode()
    assert "2 of 3 papers  1 off topic  1 errors  $0.2500" in shown.stderr
    assert "3 of 3 papers  1 off topic  1 fit  1 errors  $0.2500" in shown.stderr
    assert [line.split()[:3] for line in shown.stdout.splitlines()[-1:]] == [["s-1", "fit", "a"]]
    assert "\x1b" not in shown.stdout


def test_without_a_cap_none_is_sent_and_csv_is_told_by_its_name(
    firetrial: Call, world: World, tmp_path: Path
) -> None:
    path = tmp_path / "items.CSV"
    path.write_text("id,title\na,b\n")
    firetrial("papers", "screen", str(path), "--no-wait", "--retry-errors")
    header = world.headers[-1]
    assert header.format == screening_pb2.SCREENING_FORMAT_CSV
    assert not header.HasField("max_cost_usd")
    assert header.retry_errors


def test_all_results_go_into_a_file_one_a_line(
    firetrial: Call, answer: Any, items: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results" / "all.jsonl"
    told = answer("papers", "screen", str(items), "--out", str(out))
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["item"]["id"] for one in found] == ["tomatoes", "a", "bad"]
    assert (told["screening"]["id"], told["papers"], told["path"]) == ("b-1", [], str(out))
    assert list(out.parent.iterdir()) == [out]


def test_a_folder_of_papers_is_submitted_and_what_cannot_be_taken_is_an_item_too(
    firetrial: Call, world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    (folder / "more").mkdir(parents=True)
    (folder / "b.md").write_text("# B")
    (folder / "more" / "a.pdf").write_bytes(b"%PDF-")
    with (folder / "large.txt").open("wb") as file:
        file.truncate(LIMIT + 1)
    (folder / "notes.docx").write_bytes(b"PK")
    firetrial("papers", "screen", str(folder))
    lines = [json.loads(line) for line in world.uploads[-1].splitlines()]
    assert [one["id"] for one in lines] == ["b.md", "large.txt", "more/a.pdf"]
    assert set(lines[0]) == {"id", "paper_id"}
    assert "at most" in lines[1]["error"]


def test_a_batch_that_ends_early_ends_the_program_with_its_reason(
    firetrial: Call, world: World, items: Path
) -> None:
    world.screened = screening_pb2.SCREENING_STATE_STOPPED
    ended = firetrial("papers", "screen", str(items), code=1)
    assert "the cap is reached" in ended.stderr


def test_what_was_found_stands_with_why(firetrial: Call, answer: Any) -> None:
    shown = firetrial("papers", "screened", "b-1").stdout.splitlines()
    assert "keywords found: study: “measure” in the abstract" in shown[1]
    assert shown[2].endswith("open inputs: yes")
    assert shown[3].endswith("the line is no JSON")
    assert len(answer("papers", "screened", "b-1", "--outcome", "fit")) == 1
    assert "b-1" in firetrial("papers", "screened").stdout
    firetrial("papers", "screened", "b-1", "--outcome", "good", code=2)


# ---- review


def test_the_queue_asks_in_ones_own_name(firetrial: Call, world: World) -> None:
    shown = firetrial("papers", "queue", "--reviewer", "Ada", "--kind", "tree").stdout
    request = world.headers[-1]
    assert (request.reviewer, request.kind) == ("Ada", review_pb2.REVIEW_KIND_TREE)
    assert list(request.states) == [review_pb2.REVIEW_STATE_OPEN, review_pb2.REVIEW_STATE_DISPUTED]
    assert shown.splitlines()[1].split()[:6] == ["t-1", "tree", "open", "0/2", "2", "1"]
    firetrial("papers", "queue", "--all")
    assert list(world.headers[-1].states) == []


def test_a_tree_is_read_with_quotations_pages_and_faults(firetrial: Call, answer: Any) -> None:
    shown = firetrial("papers", "review", "t-1").stdout
    for part in (
        "0.0  Table 1: Accuracy by size  p. 4",
        "data     Circles, Squares",
        "finding  Accuracy falls above seven.",
        "“accuracy falls above seven”  p. 4",
        "“accuracy rises”  not found in the paper",
        "✗ 0.0.conclusion is “7”: is nowhere in the paper",
        "round 1, version 1: Bob reject; edited by Ada",
        "0.0 conclusion  It rises. → It falls.",
        "firetrial papers review t-1 --accept --version 2",
    ):
        assert part in shown, part
    assert "\x1b" not in shown
    assert answer("papers", "review", "t-1")["tree"]["children"][0]["quotes"][0]["page"] == 4


def test_a_screened_paper_is_read_with_what_speaks_for_it(firetrial: Call) -> None:
    shown = firetrial("papers", "review", "s-1").stdout
    assert "Here we measure it." in shown
    assert "open inputs: yes" in shown
    assert "“we measure it”  p. 1" in shown
    assert "empirical, by m: It asks how well models count." in shown


def test_decisions_go_out_as_they_are_meant(firetrial: Call, world: World) -> None:
    firetrial("papers", "review", "t-1", "--accept", "--version", "2", "--reviewer", "Ada")
    sent = world.headers[-1]
    assert (sent.verdict, sent.version, sent.reviewer) == (review_pb2.VERDICT_ACCEPT, 2, "Ada")
    assert sent.request_id
    firetrial("papers", "review", "s-1", "--reject", "--reason", "a survey", "--reviewer", "Bob")
    sent = world.headers[-1]
    assert (sent.verdict, sent.version, sent.reason) == (review_pb2.VERDICT_REJECT, 1, "a survey")
    argv = ["--resolve", "accept", "--by", "Ada", "--by", "Bob", "--reason", "agreed", "--version", "2"]
    firetrial("papers", "review", "t-1", *argv)
    assert list(world.headers[-1].by) == ["Ada", "Bob"]
    firetrial("papers", "review", "t-1", "--reopen", "--reason", "new figures", "--reviewer", "Eve")
    assert world.headers[-1].reviewer == "Eve"


@pytest.mark.parametrize(
    "argv", [("--accept", "--reject"), ("--accept", "--reopen"), ("--by", "Ada"), ("--resolve", "maybe")]
)
def test_one_thing_at_a_time(firetrial: Call, argv: tuple[str, ...]) -> None:
    firetrial("papers", "review", "t-1", *argv, code=2)


def test_fields_are_set_lists_value_by_value(firetrial: Call, world: World, answer: Any) -> None:
    puts = ["--set", "0.0", "datasets", "A", "--set", "0.0", "datasets", "B", "--set", "0", "title", "T"]
    shown = firetrial("papers", "edit", "t-1", "--version", "2", *puts, "--clear", "0.0", "models").stdout
    sent = {(edit.path, edit.set.field): list(edit.set.values) for edit in world.headers[-1].edits}
    assert sent == {("0.0", "datasets"): ["A", "B"], ("0", "title"): ["T"], ("0.0", "models"): []}
    assert "version 3" in shown
    firetrial("papers", "edit", "t-1", "--version", "2", "--remove", "0.0")
    assert world.headers[-1].edits[0].remove
    firetrial("papers", "edit", "t-1", "--version", "2", code=2)
    firetrial("papers", "edit", "t-1", "--version", "2", "--node", "0.0", "--remove", "0", code=2)
    firetrial("papers", "edit", "t-1", "--set", "0", "title", "T", code=2)


def test_a_node_is_edited_in_the_editor(firetrial: Call, world: World, tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    script = "#!/usr/bin/env python3\nimport json, sys\npath = sys.argv[1]\nnode = json.load(open(path))\n"
    editor.write_text(f"{script}node.update(json.loads(CHANGES))\njson.dump(node, open(path, 'w'))\n")
    source = editor.read_text()

    def edited(**changes: object) -> dict[str, str]:
        editor.write_text(source.replace("CHANGES", repr(json.dumps(changes))))
        editor.chmod(0o755)
        return {"EDITOR": str(editor)}

    argv = ["papers", "edit", "t-1", "--version", "2", "--node", "0.0"]
    firetrial(*argv, env=edited(conclusion="It falls.", datasets=["A"], uncertain=True, page=5))
    sent = {edit.set.field: list(edit.set.values) for edit in world.headers[-1].edits}
    assert sent == {"conclusion": ["It falls."], "datasets": ["A"], "uncertain": ["true"], "page": ["5"]}
    assert "nothing was changed" in firetrial(*argv, env=edited(page=4), code=1).stderr
    assert "no other" in firetrial(*argv, env=edited(kind="root"), code=2).stderr
    assert "must be the path" in firetrial(*argv[:-1], "0.9", code=2).stderr


def test_faults_agreement_and_tasks(firetrial: Call, world: World) -> None:
    assert "no such table" in firetrial("papers", "revalidate", "t-1").stdout
    lines = firetrial("papers", "agreement").stdout.splitlines()
    assert "75% (30% to 95%)" in lines[1]
    assert "0.50 (-0.20 to 0.90)" in lines[1]
    assert lines[2].startswith("Ada, Bob")
    assert firetrial("papers", "make-task", "t-1", "--leaf", "0.0", "--version", "2").stdout == "count-1\n"
    assert (world.headers[-1].leaf_path, world.headers[-1].version) == ("0.0", 2)
