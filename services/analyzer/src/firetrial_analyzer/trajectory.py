"""The steps of a run as its page shows them: all of them, or where they are too many their begin and their end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from firetrial_analyzer.taxonomy.steps import Step, read

# Bytes of JSON lines that are read from the begin and from the end: half a million usual steps in all.
HEAD_BYTES = 64 * 1024 * 1024
TAIL_BYTES = 32 * 1024 * 1024

Load = Callable[[int], Awaitable[bytes]]
