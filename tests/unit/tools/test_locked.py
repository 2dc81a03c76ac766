"""Cutting the lock by who asks."""

from __future__ import annotations

import re

import check_lock
import pytest
from locked import LOCK, closure, entries

LITTLE = """\
a==1 \\
    --hash=sha256:aa
    # via firetrial-kit (libs/kit/pyproject.toml)
b==1 \\
    --hash=sha256:bb
    # via
    #   a
    #   firetrial-runner (services/runner/pyproject.toml)
c==1 ; python_full_version < '3.12' \\
    --hash=sha256:cc
    # via b
d==1 \\
    --hash=sha256:dd
    # via firetrial-workspace (pyproject.toml:dev)
"""


def names(text: str) -> list[str]:
    return re.findall(r"^([a-z0-9._-]+)==", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("roots", "expected"),
    [
        ({"firetrial-kit"}, ["a", "b", "c"]),
        ({"firetrial-runner"}, ["b", "c"]),
        ({"pyproject.toml:dev"}, ["d"]),
        ({"firetrial-none"}, []),
    ],
)
def test_closure_follows_who_asked(roots: set[str], expected: list[str]) -> None:
    assert names(closure(LITTLE, roots)) == expected


def test_a_named_package_brings_what_it_needs() -> None:
    assert names(closure(LITTLE, set(), {"b"})) == ["b", "c"]


def test_what_is_left_out_takes_along_what_nothing_else_asks_for() -> None:
    assert names(closure(LITTLE, {"firetrial-kit"}, without={"b"})) == ["a"]
    assert names(closure(LITTLE, {"firetrial-kit", "firetrial-runner"}, without={"a"})) == ["b", "c"]
    with pytest.raises(ValueError, match="has no x"):
        closure(LITTLE, {"firetrial-kit"}, without={"x"})


@pytest.mark.parametrize(
    ("service", "has", "lacks"),
    [
        ("runner", {"docker", "nats-py", "minio", "grpcio"}, {"openai", "onnxruntime", "matplotlib"}),
        ("judge", {"openai", "onnxruntime"}, {"docker", "pypdfium2", "matplotlib"}),
        ("parser", {"openai", "pypdfium2"}, {"docker", "onnxruntime"}),
        ("analyzer", {"matplotlib", "openai", "polars"}, {"docker", "onnxruntime"}),
    ],
)
def test_each_service_gets_only_its_own(service: str, has: set[str], lacks: set[str]) -> None:
    got = set(names(closure(LOCK.read_text(), {f"firetrial-{service}", "firetrial-kit", "firetrial-protos"})))
    assert has <= got
    assert not lacks & got


def test_the_lock_is_hashed_complete_and_names_no_host() -> None:
    assert check_lock.problems() == []
    assert len(entries(LOCK.read_text())) > 50
