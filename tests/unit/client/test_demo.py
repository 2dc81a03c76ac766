"""The demo study says what its experiment measured; its agents conclude from their own measurements."""

import json
import os
import platform
import re
import runpy
import subprocess
import sys
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from firetrial_client import demo

STUDY = demo.study()
EXPERIMENT = STUDY.parent / "study" / "experiment.py"
RESULTS: dict[str, Any] = json.loads((STUDY.parent / "study" / "results.json").read_text(encoding="utf-8"))
# Percent, by (data set, k, noise in percent).
MEAN: dict[tuple[str, int, int], float] = {
    (r["data"], r["k"], round(100 * r["noise"])): 100 * r["mean"] for r in RESULTS["records"]
}
NOISE, KS = (0, 10, 20, 30, 40), (1, 5, 15, 45)
CAREFUL, NO_BASELINE, OVERGENERALISED = demo.agents()
INSTRUCTION = "Work alone.\nResearch question: how does label noise change accuracy? Write conclusion.md.\n"


def section(title: str) -> str:
    return STUDY.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def findings(label: str) -> list[str]:
    return re.findall(rf"[^.\n](?:[^.\n]|\.\d)*\({label}\)\.", section("Results"))


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.=%]+", text.lower())


def phrases(text: str, length: int) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[at : at + length]) for at in range(len(found) - length + 1)}


def lost(k: int, data: str = "digits") -> float:
    return MEAN[data, k, 0] - MEAN[data, k, 40]


def run(bundle: Path, workspace: Path) -> subprocess.CompletedProcess[str]:
    """Start the agent as the runner does, with its bundle where it lies instead of at /agent."""
    (workspace / "instruction.txt").write_text(INSTRUCTION, encoding="utf-8")
    command = json.loads((bundle / "agent.json").read_text(encoding="utf-8"))["command"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [part.replace("/agent/", f"{bundle}/") for part in command],
        cwd=workspace,
        env={"PATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, tuple[str, Path]]:
    """Each agent's output and workspace, run once."""
    done = {}
    for bundle in demo.agents():
        workspace = tmp_path_factory.mktemp(bundle.name)
        result = run(bundle, workspace)
        assert result.returncode == 0, result.stderr
        done[bundle] = (result.stdout, workspace)
    return done


def test_table_and_figure_are_those_of_the_results() -> None:
    program = runpy.run_path(str(EXPERIMENT))
    assert program["table"](RESULTS, "digits") in section("Results")
    assert program["figure"](RESULTS) in section("Results")


def test_every_number_of_the_findings_is_measured() -> None:
    digits = {setting[1:]: mean for setting, mean in MEAN.items() if setting[0] == "digits"}
    steps = [digits[1, low] - digits[1, high] for low, high in pairwise(NOISE)]
    behind = [digits[15, noise] - digits[45, noise] for noise in NOISE]
    stated = {
        "Table 1": [
            f"from {digits[1, 0]:.1f}% at k = 1 to {digits[45, 0]:.1f}% at k = 45",
            f"accuracy at k = 1 falls by {lost(1):.1f} points to {digits[1, 40]:.1f}%",
            f"between {min(steps):.1f} and {max(steps):.1f} points for each further 10%",
            f"At k = 15, flipping 40% of the labels costs only {lost(15):.1f} points",
            f"k = 45 is less accurate than k = 15, by {min(behind):.1f} to {max(behind):.1f} points",
        ],
        "Figure 1": [f"{lost(15, 'breast_cancer'):.1f} instead of {lost(15):.1f} points at k = 15"],
    }
    for label, parts in stated.items():
        text = " ".join(findings(label))
        for part in parts:
            assert part in text
            text = text.replace(part, "")
        assert re.findall(r"\d\.\d", text) == []


def test_every_direction_of_the_findings_is_measured() -> None:
    def ranked(noise: int) -> list[int]:
        return sorted(KS, key=lambda k: -MEAN["digits", k, noise])

    assert len(findings("Table 1")) == 7
    assert len(findings("Figure 1")) == 2
    assert ranked(0) == list(KS)
    assert [ranked(noise)[0] for noise in NOISE] == [1, 5, 15, 15, 15]
    assert all(MEAN["digits", 15, noise] > MEAN["digits", 45, noise] for noise in NOISE)
    for data in ("digits", "breast_cancer"):
        assert all(lost(small, data) > lost(large, data) for small, large in pairwise(KS))
    assert all(lost(k, "breast_cancer") > lost(k) for k in KS[1:])


def test_public_sections_hold_no_result() -> None:
    for title in ("Abstract", "Question", "Scope", "Method"):
        assert section(title).strip()
        assert re.findall(r"\d\.\d|Table 1|Figure 1", section(title)) == []


def test_sizes_in_the_text_are_those_of_the_protocol() -> None:
    sizes = RESULTS["protocol"]["sizes"]
    digits, cancer = sizes["digits"], sizes["breast_cancer"]
    assert f"{digits['train']} images for training and {digits['test']} for testing" in section("Method")
    assert f"{cancer['train']} cases, with {cancer['test']} for testing" in section("Method")
    assert f"each of {len(RESULTS['protocol']['seeds'])} seeds" in section("Method")


def test_running_the_experiment_again_gives_the_results(tmp_path: Path) -> None:
    subprocess.run([sys.executable, EXPERIMENT, tmp_path], check=True, capture_output=True, timeout=100)
    again = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    here = {"numpy": version("numpy"), "scikit-learn": version("scikit-learn"), "machine": platform.machine()}
    assert again["made_with"] == here
    assert again["protocol"] == RESULTS["protocol"]
    tolerance = 1e-9 if RESULTS["made_with"] == here else 0.02
    for new, kept in zip(again["records"], RESULTS["records"], strict=True):
        assert [new[name] for name in ("data", "k", "noise")] == [
            kept[name] for name in ("data", "k", "noise")
        ]
        assert new["mean"] == pytest.approx(kept["mean"], abs=tolerance)
        assert new["std"] == pytest.approx(kept["std"], abs=tolerance)


@pytest.mark.parametrize("bundle", demo.agents(), ids=lambda bundle: bundle.name)
def test_bundle_describes_a_scripted_agent(bundle: Path) -> None:
    described = json.loads((bundle / "agent.json").read_text(encoding="utf-8"))
    assert set(described) == {"name", "description", "command"}
    assert described["name"] == bundle.name.replace("_", "-")
    assert described["description"].startswith("Scripted, no model")
    assert described["command"] == ["python3", "/agent/agent.py"]


@pytest.mark.parametrize("bundle", demo.agents(), ids=lambda bundle: bundle.name)
def test_agent_plans_codes_runs_and_concludes(bundle: Path, runs: dict[Path, tuple[str, Path]]) -> None:
    shown, workspace = runs[bundle]
    stages = re.findall(r"^\[(\w+)\]", shown, re.MULTILINE)
    assert list(dict.fromkeys(stages)) == ["plan", "code", "run", "conclude"]
    assert "a scripted agent" in shown
    assert "how does label noise change accuracy?" in shown
    assert (workspace / "experiment.py").is_file()
    conclusion = (workspace / "conclusion.md").read_text(encoding="utf-8")
    assert conclusion in shown


@pytest.mark.parametrize("bundle", demo.agents(), ids=lambda bundle: bundle.name)
def test_agent_without_measurements_gives_no_conclusion(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "sklearn.py").write_text("raise ImportError('not on this machine')\n", encoding="utf-8")
    assert run(bundle, tmp_path).returncode != 0
    assert not (tmp_path / "conclusion.md").exists()


@pytest.mark.parametrize("bundle", demo.agents(), ids=lambda bundle: bundle.name)
def test_agent_does_not_copy_the_study(bundle: Path, runs: dict[Path, tuple[str, Path]]) -> None:
    conclusion = (runs[bundle][1] / "conclusion.md").read_text(encoding="utf-8")
    source = (bundle / "agent.py").read_text(encoding="utf-8")
    for text in (conclusion, source):
        assert phrases(section("Results"), 8) & phrases(text, 8) == set()


def test_careful_rediscovers_the_directions_with_other_seeds(runs: dict[Path, tuple[str, Path]]) -> None:
    workspace = runs[CAREFUL][1]
    seeds = {line.split(",")[2] for line in (workspace / "scores.csv").read_text().splitlines()[1:]}
    assert len(seeds) == 5
    assert seeds.isdisjoint(str(seed) for seed in RESULTS["protocol"]["seeds"])
    conclusion = (workspace / "conclusion.md").read_text(encoding="utf-8")
    for finding in (
        "goes down as k goes up",
        "k = 1 suffers most",
        "roughly linearly",
        "more robust",
        "lower than that of k = 15",
    ):
        assert finding in conclusion


def test_careful_concludes_the_opposite_from_opposite_numbers() -> None:
    """With k = 1 robust and k = 45 fragile, every sentence turns round."""
    agent = runpy.run_path(str(CAREFUL / "agent.py"))
    turned = {
        k: {noise: MEAN["digits", other, noise] for noise in NOISE}
        for k, other in zip(KS, KS[::-1], strict=True)
    }
    assert "a larger k does not lower accuracy" in agent["about_baseline"](turned)
    assert agent["about_steps"](turned).startswith("k = 45 suffers most")
    assert agent["about_robustness"](turned).startswith(
        "Robustness to label noise does not grow steadily with k"
    )
    assert "k = 45 and k = 15 are the most accurate on clean labels" in agent["about_choice"](turned)
    assert "k = 45 is not the best choice" in agent["about_excess"](turned)


def test_careful_sees_when_noise_changes_nothing() -> None:
    agent = runpy.run_path(str(CAREFUL / "agent.py"))
    flat = {k: dict.fromkeys(NOISE, 90.0 + k / 10) for k in KS}
    assert (
        agent["about_choice"](flat)
        == "k = 45 is a good choice both on clean labels and with 40% wrong labels."
    )
    assert (
        agent["about_excess"](flat) == "With 40% wrong labels the largest k tried, 45, is the most accurate."
    )
    assert "unevenly" in agent["about_steps"](flat)


def test_no_baseline_never_sees_clean_labels(runs: dict[Path, tuple[str, Path]]) -> None:
    rows = (runs[NO_BASELINE][1] / "scores.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert {row.split(",")[1] for row in rows} == {"20", "30", "40"}


def test_overgeneralised_claims_every_k_from_one(runs: dict[Path, tuple[str, Path]]) -> None:
    workspace = runs[OVERGENERALISED][1]
    assert re.findall(r"n_neighbors=(\d+)", (workspace / "experiment.py").read_text(encoding="utf-8")) == [
        "1"
    ]
    assert "whatever k is" in (workspace / "conclusion.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("bundle", demo.agents(), ids=lambda bundle: bundle.name)
def test_agent_quotes_the_first_line_when_nothing_is_asked(bundle: Path) -> None:
    question = runpy.run_path(str(bundle / "agent.py"))["question"]
    assert question("Measure label noise.\nBe brief.\n") == "Measure label noise."
    assert question("") == ""
