"""A small repository task, as it is submitted."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.json_format import ParseDict

from firetrial.parser.v1 import parser_service_pb2 as pb
from support.tars import tarred

FILES = {
    "source/model.py": b"RATE = 0.1\n",
    "source/split.json": b'{"val_seed": 7}',
    "source/validate.py": b"print('validated')\n",
    "source/data/seen.csv": b"1,2\n",
    "sealed/files/data/unseen.csv": b"3\n",
    "sealed/score/labels.csv": b"4\n",
    "sealed/score/score.py": b"print('scored')\n",
}
HEADER = {
    "slug": "tiny-loop",
    "question": "How good can the loop get?",
    "instruction": "Improve the loop.",
    "repository": {
        "origin": "https://git.example/loop",
        "commit": "0123abc",
        "target_files": ["model.py", "split.json"],
        "validation_command": ["python3", "validate.py"],
        "metric": {
            "key": "loss_mean",
            "datasets": ["tiny"],
            "direction": "DIRECTION_LOWER",
            "best": 0.0,
            "results_file": "results.json",
        },
        "baseline_validation": 0.5,
        "baseline_test": 0.6,
        "split": {
            "file": "split.json",
            "fields": [{"name": "val_seed", "default": 7, "least": 0, "most": 99, "whole": True}],
        },
        "max_steps": 5,
        "step_time": "20s",
        "recipe": "numpy",
    },
    "test": {
        "command": ["python3", "validate.py", "--test"],
        "results_file": "results.json",
        "score_command": ["python3", "score.py"],
        "outputs": ["guesses.csv"],
    },
}


def upload(files: dict[str, bytes] | None = None) -> bytes:
    """The task's parts as one tar."""
    return tarred(*(FILES if files is None else files).items())


def header(data: bytes, told: Mapping[str, object] | None = None) -> pb.TaskHeader:
    """The header before `data`."""
    return ParseDict({**(told or HEADER), "data_size": str(len(data))}, pb.TaskHeader())
