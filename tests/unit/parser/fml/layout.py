"""A small copy of FML-bench's layout, whole unless a test takes something away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NAME = "Causality_gcastle"
"""A task whose anchors are known; all else of it is made up."""
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG: dict[str, Any] = {
    "repo_dir": "workspace/loop",
    "pinned_commit": COMMIT,
    "conda_env": "tiny",
    "target_files": ["model.py", "split_config.json"],
    "val_command": "cp ../../ml_tasks/Causality_gcastle/train.py ./ && python train.py --split val",
    "test_command": (
        "cp ../../ml_tasks/Causality_gcastle/train.py ./ && "
        "cp ../../ml_tasks/Causality_gcastle/unseen.csv ./data/ && python train.py --split test"
    ),
    "metric": "loss_mean",
    "metric_direction": "lower",
}


def info(value: float) -> str:
    return json.dumps({"tiny": {"means": {"loss_mean": value}}})


def write(root: Path, name: str = NAME) -> Path:
    """The layout below `root`, with one task; gives `root`."""
    own, repository = f"ml_tasks/{name}", str(CONFIG["repo_dir"])
    files = {
        "configs/tasks/tiny.yaml": (
            f"benchmark:\n  name: {name}\nmetrics:\n  include_datasets: [tiny]\n"
            "  include_metrics: [loss_mean]\n  per_metric_direction:\n    loss_mean: lower\n"
        ),
        f"{own}/config.json": json.dumps(CONFIG),
        f"{own}/prompt.json": json.dumps(
            {"system": "You work.", "task_description": "A loop. Your goal is less loss."}
        ),
        f"{own}/split_config.json": '{"val_ratio": 0.2, "val_seed": 42}',
        f"{own}/baseline_results/val_info.json": info(0.5),
        f"{own}/baseline_results/test_info.json": info(0.6),
        f"{own}/train.py": "print('trains')\n",
        f"{own}/unseen.csv": "7\n",
        f"{own}/environment.yml": "dependencies: [numpy]\n",
        f"{repository}/model.py": "RATE = 1\n",
        f"{repository}/data/seen.csv": "1\n",
        f"{repository}/.git/HEAD": "ref: refs/heads/main\n",
        f"{repository}/.git/refs/heads/main": f"{COMMIT}\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def change(root: Path, **fields: object) -> None:
    """Set fields of the configuration; None takes one away."""
    config = {key: value for key, value in {**CONFIG, **fields}.items() if value is not None}
    (root / f"ml_tasks/{NAME}/config.json").write_text(json.dumps(config))
