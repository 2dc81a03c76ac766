"""Rules that name hosts."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.hosts import MOST_RULES, allowed, denied, literal, plain_name, rule_faults

LABEL = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
NAMES = st.lists(LABEL, min_size=2, max_size=4).map(".".join)


@pytest.mark.parametrize(
    ("text", "names", "not_names"),
    [
        (
            "data.example",
            ["data.example"],
            ["www.data.example", "xdata.example", "data.example.evil.example"],
        ),
        ("*.files.example", ["a.files.example", "a.b.files.example"], ["files.example", "xfiles.example"]),
        ("Data.Example.", ["data.example"], []),
    ],
)
def test_what_is_allowed_by_name(text: str, names: list[str], not_names: list[str]) -> None:
    rule = allowed(text)
    assert all(map(rule.names, names))
    assert not any(map(rule.names, not_names))


def test_what_is_denied_counts_for_all_below() -> None:
    rule = denied("https://arxiv.org/abs/2505.01234")
    assert all(map(rule.names, ["arxiv.org", "export.arxiv.org"]))
    assert not rule.names("notarxiv.org")
    hidden = ["/abs/2505.01234", "/ABS/2505.01234v2", "/abs/./x/../2505.01234", "//abs//2505.01234"]
    assert all(map(rule.hides, [*hidden, "/%61bs/2505.01234", "/%2561bs/2505.01234"]))
    assert not rule.hides("/abs/2505.01235")
    assert denied("arxiv.org").hides("/anything")


def test_ports() -> None:
    assert all(map(allowed("data.example").opens, (80, 443)))
    assert not allowed("data.example").opens(22)
    assert allowed("git.example:22").opens(22)
    assert not allowed("git.example:22").opens(443)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("10.1.0.0/16", "10.1.2.3", "10.2.0.1"),
        ("10.1.2.3:8080", "10.1.2.3", "10.1.2.4"),
        ("[fd00::7]:8080", "fd00::7", "fd00::8"),
        ("fd00::/64", "fd00::1", "10.0.0.1"),
    ],
)
def test_addresses(text: str, inside: str, outside: str) -> None:
    rule = allowed(text)
    assert rule.holds(ip_address(inside))
    assert not rule.holds(ip_address(outside))
    assert not rule.names("data.example")
    assert not allowed("data.example").holds(ip_address(inside))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "*.",
        "a b",
        "http://x",
        "x/y",
        "1.2.3",
        "0x7f.1",
        "2130706433",
        "x:0",
        "x:70000",
        "-x.y",
        "ü.de",
    ],
)
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        allowed(text)


def test_faults_tell_field_and_value() -> None:
    (fault,) = rule_faults("hosts", ["data.example", "a b"], allowed)
    assert (fault.field, fault.value) == ("hosts[1]", "a b")
    (fault,) = rule_faults("hosts", ["data.example"] * (MOST_RULES + 1), allowed)
    assert fault.field == "hosts"


@pytest.mark.parametrize("number", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "1.2.3.4", "a.0x1"])
def test_numbers_are_no_names(number: str) -> None:
    assert plain_name(number) == ""


@pytest.mark.parametrize(
    ("most", "asked", "covered"),
    [
        ("data.example", "data.example", True),
        ("data.example", "data.example:22", False),
        ("data.example:22", "data.example", False),
        ("*.example", "a.example", True),
        ("*.example", "*.a.example", True),
        ("*.example", "*.example", True),
        ("a.example", "*.a.example", False),
        ("*.a.example", "a.example", False),
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.1.0.0/16", "10.0.0.0/8", False),
        ("10.0.0.0/8", "fd00::1", False),
        ("data.example", "10.0.0.1", False),
        ("10.0.0.0/8", "data.example", False),
    ],
)
def test_what_covers_what(most: str, asked: str, covered: bool) -> None:
    assert allowed(most).covers(allowed(asked)) is covered


@given(NAMES, NAMES)
def test_a_name_is_allowed_by_its_own_rule_alone(one: str, other: str) -> None:
    assert allowed(one).names(one)
    assert allowed(one).names(other) == (one == other)
    assert denied(one).names(f"x.{one}")
    assert allowed(f"*.{one}").names(f"{other}.{one}")


@given(st.text(max_size=40))
def test_any_text_is_a_rule_or_none(text: str) -> None:
    for read in (allowed, denied):
        try:
            rule = read(text)
        except ValueError:
            continue
        assert rule.name or rule.network
    assert literal(text) is None or plain_name(text) == ""
