from dataclasses import replace

import pytest

from firetrial_parser.defects import Seen, defects

SOUND = Seen(
    name="noise",
    instruction=(
        'You are a research agent. "Does it?"\n\nModels:\n- gpt-4o\n- budget of 100 API calls\n\n'
        "Datasets:\n- rows in /data/rows.csv\n\nPlease go on.\n"
    ),
    instruction_files=("instruction.txt",),
    query="Does it?",
    truth="It does.",
    asked="Does it?",
    has_data_folder=True,
    data_files=("rows.csv",),
    data_links=(),
    data_note="",
    has_pdf=True,
    unclaimed_pdfs=(),
)


def test_a_sound_task() -> None:
    assert list(defects(SOUND)) == []


def edited(old: str, new: str) -> Seen:
    assert old in SOUND.instruction
    return replace(SOUND, instruction=SOUND.instruction.replace(old, new))


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (replace(SOUND, truth=""), "no ground truth"),
        (replace(SOUND, query=""), "no question"),
        (replace(SOUND, query="Does it not?"), "another wording"),
        (replace(SOUND, query="Does\ufffeit?", asked=""), "U+FFFE"),
        (replace(SOUND, asked="The main research question is: Does it?"), "begins with words"),
        (edited('"Does it?"', "“Does it?"), "1 opening and 0 closing"),
        (edited('"Does it?"', "“Does it?”"), "curly quotes"),
        (edited("Please", "```python\nx\n\nPlease"), "1 code fence is never closed"),
        (edited("Please", "```python\nx\n``` and then\nPlease"), "followed by text"),
        (edited("Please go on.", "Please go on.\non."), "stray last line"),
        (edited("- gpt-4o", "- meta-llama/Llama-2-7b-chat"), "(…-hf)"),
        (edited("- gpt-4o", "- gemini-1.0-pro"), "retired"),
        (edited("- gpt-4o", "- gpt-4o, MY_API_KEY"), "MY_API_KEY"),
        (edited("- budget of 100 API calls\n", ""), "no call budget"),
        (edited("- gpt-4o", "- Load with HuggingFace: Qwen/Q"), "run locally"),
        (edited("- rows in /data/rows.csv\n", ""), "Datasets heading is empty"),
        (edited("Please", "Note:\nload_dataset('a/b')\n\nPlease"), "outside the Datasets section"),
        (edited("You are", "Be"), "does not begin with"),
        (edited("rows.csv", "cols.csv"), "names /data/cols.csv, which is not there"),
        (edited("/data/rows.csv", "rows.csv"), "without its place"),
        (replace(SOUND, data_files=("rows.csv", "more.csv")), "data/more.csv is not named"),
        (replace(SOUND, data_files=("rows.csv", *(f"part{n}.csv" for n in range(9)))), "9 files"),
        (replace(SOUND, data_files=("rows.csv", "plan.md")), "a note among the data"),
        (replace(SOUND, data_files=("rows.csv", "rows.csv.d/form")), "no file name ending"),
        (replace(SOUND, data_files=()), "placeholder only"),
        (replace(SOUND, has_data_folder=False, data_files=()), "no data folder"),
        (replace(SOUND, data_links=("x",)), "data/x is a link"),
        (replace(SOUND, data_note="see benchmark/papers/old_name/data"), "old_name"),
        (replace(SOUND, has_pdf=False, unclaimed_pdfs=("other",)), "other"),
        (replace(SOUND, instruction_files=("instruction.txt", "instrunction_2.txt")), "misspelt"),
        (replace(SOUND, instruction_files=("readme.txt",)), "readme.txt was taken"),
        (replace(SOUND, instruction="", instruction_files=()), "no instruction"),
    ],
)
def test_each_defect_is_told(seen: Seen, told: str) -> None:
    assert any(told in line for line in defects(seen)), list(defects(seen))
