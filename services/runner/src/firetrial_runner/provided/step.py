"""Hands in a step of this run; see firetrial_step beside it."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from firetrial_step import main  # type: ignore[import-not-found]  # beside it, where it runs

    sys.exit(main())
