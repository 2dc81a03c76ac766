"""Small files that others read at any moment."""

from __future__ import annotations

from pathlib import Path


def put(file: Path, text: str) -> None:
    """Write it in one piece: a reader sees all of it, or what stood there before. Raises OSError."""
    aside = file.with_name(f".{file.name}.new")
    aside.write_text(text)
    aside.replace(file)
