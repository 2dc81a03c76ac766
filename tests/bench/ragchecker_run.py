"""RAGChecker itself over some texts, in a Python of its own that has the PyPI packages `ragchecker`,
`refchecker` and `litellm`.

    python ragchecker_run.py BASE_URL BATCH < texts.json

Standard input is [{"question", "truth", "conclusion"}, …]; the last line of standard output is {"seconds",
"precision", "recall"}. What its other checkers need (torch, transformers, …) is not needed to ask a model,
and stands in here as empty modules where it is not installed.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
import types
from typing import Any

_HEAVY = ("torch", "transformers", "pytorch_lightning", "spacy", "sklearn", "nltk", "accelerate")


class _Nothing:
    """A class, and as a decorator one that changes nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, decorated: Any = None, *_: Any, **__: Any) -> Any:
        return decorated


class _Empty(types.ModuleType):
    """Gives a class that does nothing for every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (_Nothing,), {})


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in _HEAVY:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def main(url: str, batch: int) -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no look at the network for prices
    sys.meta_path.append(_Absent())  # asked last: what is installed is used
    rag: Any = importlib.import_module("ragchecker")
    results = rag.RAGResults(
        [
            rag.container.RAGResult(
                query_id=str(n),
                query=row["question"],
                gt_answer=row["truth"],
                response=row["conclusion"],
                retrieved_context=[],
            )
            for n, row in enumerate(json.load(sys.stdin))
        ]
    )
    checker = rag.RAGChecker(
        extractor_name="openai/scripted",
        checker_name="openai/scripted",
        extractor_api_base=url,
        checker_api_base=url,
        batch_size_extractor=batch,
        batch_size_checker=batch,
        openai_api_key="none",
    )
    began = time.monotonic()
    metrics = checker.evaluate(results, "overall_metrics")["overall_metrics"]
    told = {
        "seconds": time.monotonic() - began,
        "precision": metrics["precision"],
        "recall": metrics["recall"],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
