"""Code as vectors: the port, and an embedder that needs no model and no network."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from firetrial_analyzer.process import Matrix

MAX_CHARACTERS = 64 * 1024
"""Of one text of code that an embedder looks at."""
_TOKEN = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class Embedder(Protocol):
    """Texts of code → vectors; the same text always gives the same one."""

    @property
    def name(self) -> str:
        """Name and version: vectors of two names cannot be compared."""
        ...

    def embed(self, codes: Sequence[str]) -> Matrix:
        """Shape (len(codes), d); rows of norm 1, and of zeros for code without a token."""
        ...


class HashedEmbedder:
    """Counts of tokens and of pairs of neighbours, hashed into a fixed number of signed places.

    Feature hashing (Weinberger et al., 2009): a feature f adds s(f) (1 + ln n) at place h(f), where n is how
    often it occurs, and h and s come from its CRC-32. Tokens are the words of identifiers in lower case,
    numbers, and signs. It tells how much of the code is the same, and not whether different code does the
    same.
    """

    WIDTH = 1024
    name = "hashed-tokens/1"

    def embed(self, codes: Sequence[str]) -> Matrix:
        """Shape (len(codes), 1024)."""
        return np.array([self._vector(code[:MAX_CHARACTERS]) for code in codes]).reshape(-1, self.WIDTH)

    def _vector(self, code: str) -> Matrix:
        vector = np.zeros(self.WIDTH)
        for feature, count in Counter(_features(code)).items():
            digest = zlib.crc32(feature.encode("utf-8", "replace"))
            vector[digest % self.WIDTH] += (1 if digest >> 31 else -1) * (1 + np.log(count))
        norm = float(np.linalg.norm(vector))
        return vector / norm if norm else vector


def _features(code: str) -> list[str]:
    tokens = [part.lower() for token in _TOKEN.findall(code) for part in (_PARTS.findall(token) or [token])]
    return tokens + [f"{left} {right}" for left, right in pairwise(tokens)]
