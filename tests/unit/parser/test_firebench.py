import json
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.firebench import ImportedTask, data_digest, pack_data, read_firebench
from firetrial_parser.rating import Difficulty, Rating
from unit.parser.repository import INSTRUCTION, label_noise, write_tables


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return label_noise(tmp_path)


def test_a_sound_task_has_no_defect(repository: Path) -> None:
    (task,) = read_firebench(repository)
    assert task.broken == ()
    assert task.question == "Does noise change accuracy?"
    assert task.ground_truth == "It does."
    assert task.instruction == INSTRUCTION
    assert task.data == repository / "benchmark/papers/label_noise/data"
    assert task.id == f"label-noise-{task.version}"
    assert task.runnable


def test_a_rating_goes_by_the_tasks_folder(repository: Path) -> None:
    rating = Rating(Difficulty(1, 2, 3), "2025-05")
    (rated,) = read_firebench(repository, {"label_noise": rating})
    assert rated.rating == rating
    assert rated.version != read_firebench(repository)[0].version
    with pytest.raises(FiretrialError) as refused:
        read_firebench(repository, {"label_noise": rating, "lable_noise": rating})
    assert [fault.field for fault in refused.value.faults] == ["lable_noise"]


def test_the_version_follows_every_part(repository: Path) -> None:
    versions = {read_firebench(repository)[0].version}
    (repository / "benchmark/papers/label_noise/data/labels.jsonl").write_text("{ }\n")
    versions.add(read_firebench(repository)[0].version)
    write_tables(repository, {"label_noise": "Does noise change accuracy?"}, {"label_noise": "It does not."})
    versions.add(read_firebench(repository)[0].version)
    assert len(versions) == 3


def test_a_task_without_truth_or_instruction_is_kept_and_named(repository: Path) -> None:
    (repository / "benchmark/papers/empty").mkdir()
    empty, _ = read_firebench(repository)
    assert not empty.runnable
    assert any("no instruction" in line for line in empty.broken)
    assert any("no ground truth" in line for line in empty.broken)
    assert "no data folder" in empty.broken


@pytest.mark.parametrize(
    "tables",
    [
        "query = open('/etc/passwd').read()\ngt = {}",
        "query = {'a': f'{1}'}\ngt = {}",
        "query = {'a': 1}\ngt = {}",
        "query = " + "(" * 500 + ")" * 500,
        "query = [\x00",
        "gt = {}",
    ],
)
def test_tables_that_are_no_literals_are_refused(repository: Path, tables: str) -> None:
    (repository / "eval/RAGChecker/utils.py").write_text(tables)
    with pytest.raises(FiretrialError) as caught:
        read_firebench(repository)
    assert caught.value.reason is Reason.INVALID
    assert caught.value.faults


def test_oversized_files_are_refused_by_size(repository: Path) -> None:
    with (repository / "eval/RAGChecker/utils.py").open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(FiretrialError, match="at most"):
        read_firebench(repository)


def test_wrong_paths(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as caught:
        read_firebench(tmp_path / "nowhere")
    assert caught.value.reason is Reason.NOT_FOUND
    with pytest.raises(FiretrialError, match="benchmark/papers"):
        read_firebench(tmp_path)
    (tmp_path / "benchmark/papers/x").mkdir(parents=True)
    with pytest.raises(FiretrialError, match=r"utils\.py"):
        read_firebench(tmp_path)


def test_data_is_packed_the_same_way_each_time_and_links_stay_out(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "sub/b.txt").write_text("b")
    (data / "a.txt").write_text("a")
    (data / ".gitkeep").write_text("")
    (data / "link").symlink_to("/etc/passwd")
    first, second = BytesIO(), BytesIO()
    pack_data(data, first)
    (data / "a.txt").touch()
    pack_data(data, second)
    assert first.getvalue() == second.getvalue()
    assert data_digest(data)[1] == len(first.getvalue())
    names = tarfile.open(fileobj=BytesIO(first.getvalue())).getnames()  # noqa: SIM115 - in memory
    assert names == ["a.txt", "sub/b.txt"]


# The defects listed for the official copy that its files cannot show: judgements about meaning, spelling,
# and properties of files that this copy does not hold.
@pytest.mark.needs("shared")
def test_the_official_copy(shared: Path) -> None:
    tasks = read_firebench(shared / "firebench/official")
    reference = json.loads((shared / "firebench/tasks.json").read_text())
    assert len(tasks) == 30
    by_name = {task.name: task for task in tasks}
    assert set(by_name) == {entry["id"] for entry in reference["tasks"]}
    assert all(task.runnable and task.ground_truth for task in tasks)
    for name in reference["no_data_folder_in_git"]:
        assert "no data folder" in by_name[name].broken
    for entry in reference["tasks"]:
        task = by_name[entry["id"]]
        assert task.question == entry["research_question"]["eval_query"]
        assert entry["instruction"]["datasets_section_empty"] == (
            "the Datasets heading is empty" in task.broken
        )
        assert (entry["instruction"]["api_calls_per_model"] is None) == ("no call budget" in task.broken)
    assert_told(by_name["llms_assume_rationality"], "U+FFFE", "unbalanced quotation marks")
    assert_told(
        by_name["llms_lack_self_correction"], "3 code fences", "odd number", "misspelt", "Llama-2-70b"
    )
    assert_told(by_name["space_time_representations"], "'ail.'")
    assert_told(by_name["cot_faithfulness_gaps"], "CLAUDE_API_KEY")
    assert_told(
        by_name["llm_racial_bias_in_medicine"], "PMC-Patients.json", "medical_bias", "another wording"
    )
    assert_told(by_name["mcq_selection_bias"], "mmlu_abstract_algebra.jsonl is not named")
    assert_told(by_name["lost_in_the_middle"], "qa_data")
    assert_told(by_name["activation_control"], "budget of API calls")


def assert_told(task: ImportedTask, *parts: str) -> None:
    told = "\n".join(task.broken)
    assert all(part in told for part in parts), told
