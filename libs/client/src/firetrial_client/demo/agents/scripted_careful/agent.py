# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""A scripted agent (no model behind it): the full grid, with a clean baseline and repeats.

The script fixes what is measured and which comparisons are made. Every number, and which way each comparison
turns out, comes from the experiment that it runs in its workspace.
"""

import csv
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

PLAN = """\
1. Baseline: train on correct labels for every k, so that a loss has something to be measured against.
2. Flip 10, 20, 30 and 40% of the training labels to another class; the test labels stay as they are.
3. Cross all noise levels with k = 1, 5, 15, 45 and repeat with five seeds (new split, new flips).
4. Compare k within a noise level and noise levels within a k; call differences under half a point a tie."""

EXPERIMENT = """\
import csv
import os

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

images, digits = load_digits(return_X_y=True)
first = 100 * int(os.environ.get("FIRETRIAL_REPEAT", "1"))  # another repeat, other seeds
with open("scores.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["k", "noise", "seed", "accuracy"])
    for seed in range(first, first + 5):
        rng = np.random.default_rng(seed)
        train, test, labels, answers = train_test_split(
            images, digits, test_size=0.3, stratify=digits, random_state=seed
        )
        for noise in (0, 10, 20, 30, 40):
            noisy = labels.copy()
            wrong = rng.choice(len(labels), size=len(labels) * noise // 100, replace=False)
            noisy[wrong] = (labels[wrong] + rng.integers(1, 10, size=len(wrong))) % 10
            for k in (1, 5, 15, 45):
                accuracy = KNeighborsClassifier(k).fit(train, noisy).score(test, answers)
                out.writerow([k, noise, seed, f"{100 * accuracy:.2f}"])
"""

LEVELS = (0, 10, 20, 30, 40)  # percent of wrong labels
TIE = 0.5  # percentage points

Means = dict[int, dict[int, float]]  # k -> noise in percent -> mean accuracy in percent


def say(stage: str, text: str) -> None:
    print(f"[{stage}] {text}", flush=True)


def question(instruction: str) -> str:
    """The first sentence of the instruction that asks something, else its first line."""
    asked = re.search(r"[^.?!\n]*\?", instruction)
    return (asked.group() if asked else instruction.strip().partition("\n")[0]).strip()


def measured() -> Means:
    """Means over the seeds, from the file that the experiment wrote."""
    scores: dict[tuple[int, int], list[float]] = defaultdict(list)
    with Path("scores.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            scores[int(row["k"]), int(row["noise"])].append(float(row["accuracy"]))
    means: Means = defaultdict(dict)
    for (k, noise), accuracies in scores.items():
        means[k][noise] = statistics.fmean(accuracies)
    return dict(means)


def listed(parts: list[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def best(means: Means, noise: int) -> list[int]:
    """All k that are within a tie of the most accurate one, the winner first."""
    ranked = sorted(means, key=lambda k: -means[k][noise])
    return [k for k in ranked if means[ranked[0]][noise] - means[k][noise] < TIE]


def about_baseline(means: Means) -> str:
    ks = sorted(means)
    clean = [means[k][0] for k in ks]
    steady = all(later < earlier + TIE for earlier, later in pairwise(clean))
    if steady and clean[0] - clean[-1] > TIE:
        return (
            f"Without label noise, accuracy goes down as k goes up: it is {clean[0]:.1f}% at k = {ks[0]} "
            f"and {clean[-1]:.1f}% at k = {ks[-1]}."
        )
    winner = best(means, 0)[0]
    return f"Without label noise, a larger k does not lower accuracy; k = {winner} is the most accurate."


def about_steps(means: Means) -> str:
    """How the most sensitive k loses accuracy from one noise level to the next."""
    k = max(means, key=lambda k: means[k][0] - means[k][40])
    row = means[k]
    steps = [lower - higher for lower, higher in pairwise(row[noise] for noise in LEVELS)]
    if min(steps) > 0 and max(steps) < 1.5 * min(steps):
        shape = f"roughly linearly, about {statistics.fmean(steps):.0f} points for every 10% of wrong labels"
    else:
        shape = f"unevenly, by {min(steps):.1f} to {max(steps):.1f} points for every 10% of wrong labels"
    return (
        f"k = {k} suffers most from label noise. With 40% wrong labels, accuracy at k = {k} drops by "
        f"{row[0] - row[40]:.1f} points to {row[40]:.1f}%. Accuracy at k = {k} drops {shape}."
    )


def about_robustness(means: Means) -> str:
    ks = sorted(means)
    lost = [means[k][0] - means[k][40] for k in ks]
    if lost == sorted(lost, reverse=True):
        lead = "A larger k makes the classifier more robust to label noise"
    else:
        lead = "Robustness to label noise does not grow steadily with k"
    each = listed(
        [f"k = {k} loses {max(points, 0):.1f} points" for k, points in zip(ks[1:], lost[1:], strict=True)]
    )
    return f"{lead}. With 40% wrong labels, {each}."


def about_choice(means: Means) -> str:
    clean, noisy = best(means, 0), best(means, 40)
    if set(clean) & set(noisy):
        return f"k = {noisy[0]} is a good choice both on clean labels and with 40% wrong labels."
    others = [noise for noise in LEVELS if best(means, noise)[0] != noisy[0]]
    since = min(noise for noise in LEVELS if noise > max(others))
    names = " and ".join(f"k = {k}" for k in clean) + (" are" if len(clean) > 1 else " is")
    return (
        f"Which k is best depends on the noise level: {names} the most accurate on clean labels, while "
        f"k = {noisy[0]} is the most accurate from {since}% noise upwards."
    )


def about_excess(means: Means) -> str:
    ks = sorted(means)
    largest, rival = ks[-1], best(means, 40)[0]
    if largest == rival:
        return f"With 40% wrong labels the largest k tried, {largest}, is the most accurate."
    behind = [means[rival][noise] - means[largest][noise] for noise in LEVELS]
    if min(behind) <= 0:
        return f"k = {largest} is not the best choice with 40% wrong labels, where k = {rival} beats it."
    return (
        f"k = {largest} is too large: its accuracy is lower than that of k = {rival} at all noise levels, "
        f"by {min(behind):.1f} to {max(behind):.1f} points."
    )


def compared(means: Means) -> Iterator[str]:
    """The differences that the findings speak of."""
    largest, rival = max(means), best(means, 40)[0]
    for k, row in means.items():
        losses = ", ".join(f"{row[one] - row[two]:.2f}" for one, two in pairwise(LEVELS))
        yield f"k = {k:<2}  loses {row[0] - row[40]:.2f} points from 0% to 40% noise, level by level {losses}"
    behind = ", ".join(f"{means[rival][noise] - means[largest][noise]:.2f}" for noise in LEVELS)
    yield f"k = {largest} is behind k = {rival} by {behind} points, level by level"


def main() -> None:
    say("plan", "scripted-careful: a scripted agent, no model is asked")
    say("plan", f"Question: {question(Path('instruction.txt').read_text(encoding='utf-8'))}\n{PLAN}")
    Path("experiment.py").write_text(EXPERIMENT, encoding="utf-8")
    say("code", f"wrote experiment.py ({len(EXPERIMENT.splitlines())} lines)")
    say("run", "$ python3 experiment.py")
    subprocess.run([sys.executable, "experiment.py"], check=True)
    means = measured()
    for k, row in means.items():
        say("run", f"k = {k:<2}  " + "  ".join(f"{noise}%: {mean:.2f}" for noise, mean in row.items()))
    for line in compared(means):
        say("run", line)
    findings = [
        about(means) for about in (about_baseline, about_steps, about_robustness, about_choice, about_excess)
    ]
    conclusion = "# Conclusion\n\n" + "\n\n".join(findings) + "\n"
    Path("conclusion.md").write_text(conclusion, encoding="utf-8")
    say("conclude", f"wrote conclusion.md\n{conclusion}")


if __name__ == "__main__":
    main()
