"""Where a page of metrics is for others."""

from __future__ import annotations

import socket

import pytest

from firetrial_kit.metrics import reachable


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("127.0.0.1:0", ""),
        ("localhost:9464", ""),
        ("[::1]:9464", ""),
        ("10.0.0.7:0", "10.0.0.7:40001"),
        ("node-7.cluster:0", "node-7.cluster:40001"),
        ("[fd00::7]:0", "[fd00::7]:40001"),
        ("0.0.0.0:0", f"{socket.gethostname()}:40001"),
        ("[::]:0", f"{socket.gethostname()}:40001"),
    ],
    ids=lambda told: told.replace(socket.gethostname(), "here"),
)
def test_a_page_is_where_others_reach_it(address: str, page: str) -> None:
    assert reachable(address, 40001) == page
