"""An agent that measures by itself and has its conclusion written by the model that the plan names."""

import json
import os
import random
import statistics
import urllib.request
from pathlib import Path

SIZE, SHUFFLES = 400, 20


def comparisons(numbers: list[int]) -> int:
    """What insertion sort needs for this list."""
    done: list[int] = []
    count = 0
    for number in numbers:
        place = len(done)
        while place:
            count += 1
            if done[place - 1] < number:
                break
            place -= 1
        done.insert(place, number)
    return count


def measured() -> dict[str, float]:
    dice = random.Random(int(os.environ.get("FIRETRIAL_REPEAT", "1")))  # noqa: S311 - shuffles, no secrets
    shuffled = [dice.sample(range(SIZE), SIZE) for _ in range(SHUFFLES)]
    return {
        "sorted": comparisons(list(range(SIZE))),
        "shuffled": round(statistics.fmean(map(comparisons, shuffled))),
        "reversed": comparisons(list(range(SIZE, 0, -1))),
    }


def asked(question: str) -> str:
    """The model's answer, through the gateway."""
    body = {
        "model": os.environ["FIRETRIAL_MODEL"],
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": 200,
    }
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "content-type": "application/json"}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310 - the gateway
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        return str(json.load(answer)["choices"][0]["message"]["content"])


def main() -> None:
    print("[plan] count comparisons for three orders, then conclude", flush=True)
    rows = "\n".join(f"{order}: {count} comparisons" for order, count in measured().items())
    print(f"[run] insertion sort on {SIZE} numbers\n{rows}", flush=True)
    instruction = Path("instruction.txt").read_text(encoding="utf-8")
    conclusion = asked(
        f"{instruction}\n\nInsertion sort was run on lists of {SIZE} numbers:\n{rows}\n\n"
        "State in two sentences, with the numbers, what was found. No headings, no code."
    )
    Path("conclusion.md").write_text(conclusion, encoding="utf-8")
    print(f"[conclude] {conclusion}", flush=True)


if __name__ == "__main__":
    main()
