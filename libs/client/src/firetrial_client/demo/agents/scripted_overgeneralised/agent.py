# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""A scripted agent (no model behind it) with a typical mistake: one k, one seed, and a law for every k."""

import re
import subprocess
import sys
from pathlib import Path

PLAN = """\
1. Take the plain nearest-neighbour rule, k = 1, as the representative of the family.
2. Train it on clean labels and with 40% of the labels flipped.
3. Conclude about k-nearest-neighbour classifiers."""

EXPERIMENT = """\
import os

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

seed = 42 * int(os.environ.get("FIRETRIAL_REPEAT", "1"))  # another repeat, another seed
x, y = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, random_state=seed)
rng = np.random.default_rng(seed)
for noise in (0.0, 0.4):
    flip = rng.random(len(y_train)) < noise
    labels = np.where(flip, (y_train + rng.integers(1, 10, len(y_train))) % 10, y_train)
    print(noise, KNeighborsClassifier(n_neighbors=1).fit(x_train, labels).score(x_test, y_test))
"""


def say(stage: str, text: str) -> None:
    print(f"[{stage}] {text}", flush=True)


def question(instruction: str) -> str:
    """The first sentence of the instruction that asks something, else its first line."""
    asked = re.search(r"[^.?!\n]*\?", instruction)
    return (asked.group() if asked else instruction.strip().partition("\n")[0]).strip()


def concluded(clean: float, noisy: float) -> str:
    """Clean and noisy accuracy in percent -> a conclusion far wider than these two numbers."""
    if clean - noisy < 5:
        return "# Conclusion\n\nLabel noise hardly matters for k-nearest-neighbour classifiers.\n"
    return f"""# Conclusion

Label noise destroys the accuracy of k-nearest-neighbour classifiers whatever k is: it falls from \
{clean:.1f}% to {noisy:.1f}% when 40% of the labels are wrong. Changing the number of neighbours does not \
help against label noise. Nearest-neighbour classifiers should never be used on data with wrong labels.
"""


def main() -> None:
    say("plan", "scripted-overgeneralised: a scripted agent, no model is asked")
    say("plan", f"Question: {question(Path('instruction.txt').read_text(encoding='utf-8'))}\n{PLAN}")
    Path("experiment.py").write_text(EXPERIMENT, encoding="utf-8")
    say("code", f"wrote experiment.py ({len(EXPERIMENT.splitlines())} lines)")
    say("run", "$ python3 experiment.py")
    shown = subprocess.run(
        [sys.executable, "experiment.py"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    say("run", shown)
    clean, noisy = (100 * float(line.split()[1]) for line in shown.splitlines())
    conclusion = concluded(clean, noisy)
    Path("conclusion.md").write_text(conclusion, encoding="utf-8")
    say("conclude", f"wrote conclusion.md\n{conclusion}")


if __name__ == "__main__":
    main()
