"""Keys never leave: whatever goes out is searched for them, also where one lies across two pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = b"[masked]"
LEAST = 8
"""Characters of a key; shorter ones are words, and no secrets."""


class Masker:
    """`secrets` shorter than LEAST are passed over."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets = sorted({secret for secret in secrets if len(secret) >= LEAST}, key=len, reverse=True)
        self._found = re.compile(b"|".join(re.escape(secret.encode()) for secret in self.secrets) or rb"(?!)")
        self.longest = max(map(len, self.secrets), default=0)

    def mask(self, data: bytes) -> bytes:
        """`data` with every key in it replaced."""
        return self._found.sub(MASK, data)

    def mask_text(self, text: str) -> str:
        return self.mask(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


class Stream:
    """Masks a stream in pieces; holds back what may be the beginning of a key."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._kept = b""

    def feed(self, data: bytes) -> bytes:
        """What may go out now."""
        if not self._masker.longest:
            return data
        seen = self._masker.mask(self._kept + data)
        begins = self._begins(seen)
        self._kept = seen[begins:]
        return seen[:begins]

    def end(self) -> bytes:
        """What was held back."""
        kept, self._kept = self._kept, b""
        return self._masker.mask(kept)

    def _begins(self, seen: bytes) -> int:
        """Where the longest beginning of a key at the end of `seen` starts, or the end."""
        for start in range(max(0, len(seen) - self._masker.longest + 1), len(seen)):
            tail = seen[start:]
            if any(secret.encode().startswith(tail) for secret in self._masker.secrets):
                return start
        return len(seen)
