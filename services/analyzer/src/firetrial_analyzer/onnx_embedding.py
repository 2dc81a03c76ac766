"""An embedding model in a local ONNX file: the other implementation of `embedding.Embedder`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firetrial_analyzer.embedding import MAX_CHARACTERS, Embedder, HashedEmbedder
from firetrial_analyzer.process import NO_DIRECTION, Matrix
from firetrial_kit.errors import FiretrialError, Reason

# Code is longer than what such models read: its parts are embedded, and the mean of them counts.
_WINDOW = 256
_MOST_WINDOWS = 64
_BATCH = 16


def chosen(model: Path | None, tokenizer: Path | None) -> Embedder:
    """The model in these files, or the embedder that needs none."""
    return OnnxEmbedder(model, tokenizer) if model and tokenizer else HashedEmbedder()


class OnnxEmbedder:
    """Mean of the last hidden states over the tokens, or the model's own sentence embedding where it has one.

    Raises PRECONDITION where onnxruntime and tokenizers are not installed or a file cannot be read.
    """

    def __init__(self, model: Path, tokenizer: Path, threads: int = 1) -> None:
        try:
            import onnxruntime  # noqa: PLC0415 - both are wanted with such a model alone
            from tokenizers import Tokenizer  # noqa: PLC0415
        except ImportError as error:
            raise _unusable("install onnxruntime and tokenizers") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        try:
            weights = model.read_bytes()
            self._tokenizer = Tokenizer.from_str(tokenizer.read_text("utf-8"))
            self._session: Any = onnxruntime.InferenceSession(
                weights, options, providers=["CPUExecutionProvider"]
            )
        except (OSError, UnicodeDecodeError) as error:
            raise _unusable(str(error)) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._width: int | None = None
        self.name = f"onnx-{hashlib.sha256(weights).hexdigest()[:12]}/1"

    def embed(self, codes: Sequence[str]) -> Matrix:
        """Shape (len(codes), d), d as the model has it. Code is read up to 64 windows of 256 tokens."""
        rows = [self._vector(self._tokenizer.encode(code[:MAX_CHARACTERS]).ids) for code in codes]
        width = next((len(row) for row in rows if row is not None), self._width or 1)
        self._width = width
        return np.array([np.zeros(width) if row is None else row for row in rows]).reshape(-1, width)

    def _vector(self, ids: Sequence[int]) -> Matrix | None:
        """A unit vector, or None for code without a token."""
        windows = [ids[at : at + _WINDOW] for at in range(0, len(ids), _WINDOW)][:_MOST_WINDOWS]
        if not windows:
            return None
        parts = [
            self._run(windows[at : at + _BATCH]) * np.array([[len(w)] for w in windows[at : at + _BATCH]])
            for at in range(0, len(windows), _BATCH)
        ]
        mean: Matrix = np.concatenate(parts).sum(axis=0)
        norm = float(np.linalg.norm(mean))
        return mean / norm if norm > NO_DIRECTION else np.zeros_like(mean)

    def _run(self, windows: Sequence[Sequence[int]]) -> Matrix:
        """Shape (windows, d)."""
        longest = max(map(len, windows))
        ids = np.array([[*window, *[0] * (longest - len(window))] for window in windows], dtype=np.int64)
        mask = np.array([[1] * len(w) + [0] * (longest - len(w)) for w in windows], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = self._session.run(None, {name: given[name] for name in self._inputs if name in given})[0]
        if out.ndim == 2:
            return np.asarray(out, dtype=np.float64)
        weights = mask[:, :, None].astype(np.float64)
        return np.asarray((out * weights).sum(axis=1) / weights.sum(axis=1))


def _unusable(why: str) -> FiretrialError:
    return FiretrialError(Reason.PRECONDITION, f"the code embedding model cannot be used: {why}")
