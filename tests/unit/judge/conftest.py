"""The offline judge, loaded once."""

from __future__ import annotations

import pytest

from firetrial_judge.offline import OfflineBackend, load


@pytest.fixture(scope="session")
def offline() -> OfflineBackend:
    return load()
