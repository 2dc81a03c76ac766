"""What a run may reach."""

from __future__ import annotations

import pytest

from firetrial_kit.hosts import Network, Reach
from firetrial_runner.egress.policy import Most, Policy, RefusedError, Target

LISTED = Network(Reach.LISTED, ("good.example", "*.files.example", "git.example:22", "10.1.0.0/16"))
OPEN = Network(Reach.OPEN, ("git.example:22",), ("paper.example/abs/1", "93.184.0.0/16"))


def refused(policy: Policy, *asked: Target) -> list[bool]:
    """Whether each is denied by a rule; all are refused."""
    found = []
    for target in asked:
        with pytest.raises(RefusedError) as caught:
            policy.check(target)
        found.append(caught.value.denied)
    return found


def test_what_is_listed() -> None:
    policy = Policy(LISTED)
    for target in (Target("good.example", 443), Target("A.Files.Example.", 80), Target("git.example", 22)):
        policy.check(target)
    policy.check(Target("10.1.2.3", 443))
    others = [
        ("other.example", 443),
        ("good.example", 22),
        ("git.example", 443),
        ("10.2.0.1", 80),
        ("127.1", 80),
    ]
    assert not any(refused(policy, *(Target(host, port) for host, port in others)))


def test_what_is_open() -> None:
    policy = Policy(OPEN, ("other.example",))
    for target in (
        Target("any.example", 443),
        Target("git.example", 22),
        Target("paper.example", 80, "/abs/2"),
    ):
        policy.check(target)
    assert refused(policy, Target("any.example", 22), Target("8.8.8.8", 443)) == [False, False]
    denied = [
        Target("paper.example", 443),
        Target("www.paper.example", 80, "/abs/1"),
        Target("other.example", 443),
    ]
    assert refused(policy, *denied, Target("93.184.1.1", 80)) == [True] * 4


def test_denial_wins() -> None:
    policy = Policy(Network(Reach.LISTED, ("paper.example",), ("paper.example",)))
    assert refused(policy, Target("paper.example", 443)) == [True]


def test_faults() -> None:
    bad = Network(Reach.LISTED, ("a b",), ("x y",))
    assert {fault.field for fault in bad.faults("network")} == {"network.hosts[0]", "network.denied[0]"}
    assert [f.field for f in Network(Reach.LISTED).faults("network")] == ["network.hosts"]
    assert [f.field for f in Network(hosts=("x.example",)).faults("network")] == ["network.hosts"]
    assert list(OPEN.faults("network")) == []


def test_an_operator_allows_nothing_by_itself() -> None:
    assert [fault.field for fault in Most().faults("n", LISTED)] == [f"n.hosts[{i}]" for i in range(4)]
    assert [fault.field for fault in Most().faults("n", OPEN)] == ["n.reach", "n.hosts[0]"]
    assert list(Most().faults("n", Network())) == []


def test_an_operator_that_is_open_lists_what_is_not_public() -> None:
    most = Most.told("open, 10.0.0.0/8, git.example:22")
    assert list(most.faults("n", LISTED)) == []
    assert list(most.faults("n", OPEN)) == []
    assert [fault.value for fault in Most.told("open").faults("n", LISTED)] == [
        "git.example:22",
        "10.1.0.0/16",
    ]


def test_an_operators_setting() -> None:
    assert Most.told("none") == Most.told("") == Most()
    with pytest.raises(ValueError, match="name"):
        Most.told("open, a b")
