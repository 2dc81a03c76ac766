"""What a request asks of the proxy, and how it goes on."""

from __future__ import annotations

import h11
import pytest

from firetrial_runner.egress.policy import Target
from firetrial_runner.egress.proxy import BadRequestError, asked, onward


@pytest.mark.parametrize(
    ("method", "line", "target"),
    [
        (b"CONNECT", b"data.example:443", Target("data.example", 443)),
        (b"CONNECT", b"[fd00::7]:8080", Target("[fd00::7]", 8080)),
        (b"GET", b"http://Data.Example", Target("data.example", 80, "/")),
        (b"GET", b"http://data.example:8080/a;b?c#d", Target("data.example", 8080, "/a;b")),
        (b"GET", b"http://[fd00::7]/x", Target("fd00::7", 80, "/x")),
    ],
)
def test_what_is_asked_for(method: bytes, line: bytes, target: Target) -> None:
    assert asked(method, line) == target


@pytest.mark.parametrize(
    ("method", "line"),
    [
        (b"CONNECT", b"data.example"),
        (b"CONNECT", b"data.example:0"),
        (b"CONNECT", b"data.example:99999"),
        (b"CONNECT", b"user@data.example:443"),
        (b"CONNECT", b"http://data.example:443"),
        (b"CONNECT", b"fd00::7:443"),
        (b"GET", b"/"),
        (b"GET", b"https://data.example/"),
        (b"GET", b"http://user@data.example/"),
        (b"GET", b"http://data.example:99999/"),
        (b"GET", b"http://[fd00::7/"),
        (b"OPTIONS", b"*"),
    ],
)
def test_what_is_nothing_that_a_proxy_does(method: bytes, line: bytes) -> None:
    with pytest.raises(BadRequestError):
        asked(method, line)


def test_a_request_goes_on_with_one_host_and_one_length() -> None:
    told = [("host", "evil.example"), ("proxy-authorization", "x"), ("connection", "keep-alive"), ("a", "b")]
    lengths = [("content-length", "4"), ("transfer-encoding", "chunked")]
    request = h11.Request(method="POST", target="http://data.example:8080/x?y", headers=[*told, *lengths])
    sent = onward(request, Target("data.example", 8080, "/x"))
    assert sent.target == b"/x?y"
    assert list(sent.headers) == [
        (b"a", b"b"),
        (b"host", b"data.example:8080"),
        (b"connection", b"close"),
        (b"transfer-encoding", b"chunked"),
    ]
