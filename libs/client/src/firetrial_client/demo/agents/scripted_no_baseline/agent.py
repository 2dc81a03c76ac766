# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""A scripted agent (no model behind it) with a typical mistake: it never measures clean labels.

It sees how classifiers compare among noisy settings, but takes the lowest noise level that it tried for the
baseline, and recommends one k without having tried it on clean labels.
"""

import csv
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

PLAN = """\
1. The question is about noisy labels, so train with 20, 30 and 40% of them flipped.
2. Do this for k = 1, 5, 15, 45 with three seeds.
3. Rank the values of k and see how far accuracy falls."""

EXPERIMENT = """\
import csv
import os

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

x, y = load_digits(return_X_y=True)
rows = [("k", "noise", "accuracy")]
first = 7 * int(os.environ.get("FIRETRIAL_REPEAT", "1"))  # another repeat, other seeds
for seed in range(first, first + 3):
    rng = np.random.default_rng(seed)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    for noise in (20, 30, 40):
        flip = rng.random(len(y_train)) < noise / 100
        y_noisy = np.where(flip, (y_train + rng.integers(1, 10, len(y_train))) % 10, y_train)
        for k in (1, 5, 15, 45):
            rows.append((k, noise, KNeighborsClassifier(k).fit(x_train, y_noisy).score(x_test, y_test)))
with open("scores.csv", "w", newline="") as file:
    csv.writer(file).writerows(rows)
"""


def say(stage: str, text: str) -> None:
    print(f"[{stage}] {text}", flush=True)


def question(instruction: str) -> str:
    """The first sentence of the instruction that asks something, else its first line."""
    asked = re.search(r"[^.?!\n]*\?", instruction)
    return (asked.group() if asked else instruction.strip().partition("\n")[0]).strip()


def measured() -> dict[tuple[int, int], float]:
    """(k, noise in percent) -> mean accuracy in percent."""
    scores: dict[tuple[int, int], list[float]] = defaultdict(list)
    with Path("scores.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            scores[int(row["k"]), int(row["noise"])].append(100 * float(row["accuracy"]))
    return {setting: statistics.fmean(accuracies) for setting, accuracies in scores.items()}


def concluded(means: dict[tuple[int, int], float]) -> str:
    ks = sorted({k for k, _ in means})
    ranked = sorted(ks, key=lambda k: -statistics.fmean(means[k, noise] for noise in (20, 30, 40)))
    fall = {k: means[k, 20] - means[k, 40] for k in ks}
    weakest, steadiest = max(ks, key=lambda k: fall[k]), min(ks, key=lambda k: fall[k])
    return f"""# Conclusion

Label noise lowers the accuracy of k = {weakest} the most, by {fall[weakest]:.1f} points in total. \
k = {steadiest} is the most robust to label noise and changes by {abs(fall[steadiest]):.1f} points.

k = {ranked[0]} is the best choice and k = {ranked[-1]} is the worst choice of k, with clean or noisy labels.
"""


def main() -> None:
    say("plan", "scripted-no-baseline: a scripted agent, no model is asked")
    say("plan", f"Question: {question(Path('instruction.txt').read_text(encoding='utf-8'))}\n{PLAN}")
    Path("experiment.py").write_text(EXPERIMENT, encoding="utf-8")
    say("code", f"wrote experiment.py ({len(EXPERIMENT.splitlines())} lines)")
    say("run", "$ python3 experiment.py")
    subprocess.run([sys.executable, "experiment.py"], check=True)
    means = measured()
    for (k, noise), mean in means.items():
        say("run", f"k = {k:<2}  noise {noise}%: {mean:.2f}")
    for k in sorted({k for k, _ in means}):
        say("run", f"k = {k:<2}  falls by {means[k, 20] - means[k, 40]:.2f} points from 20% to 40% noise")
    conclusion = concluded(means)
    Path("conclusion.md").write_text(conclusion, encoding="utf-8")
    say("conclude", f"wrote conclusion.md\n{conclusion}")


if __name__ == "__main__":
    main()
