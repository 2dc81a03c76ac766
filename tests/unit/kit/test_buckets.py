from __future__ import annotations

import pytest

from firetrial_kit import buckets


def test_of_the_services_ground_truth_is_readable_by_the_judge_alone() -> None:
    readers = [name for name, grant in buckets.grants().items() if "truth" in grant["read"]]
    assert readers == ["judge", "operator"]


def test_a_policy_allows_what_was_granted_and_no_more() -> None:
    policy = buckets.policy("runner", "lab-")
    resources = {resource for statement in policy["Statement"] for resource in statement["Resource"]}
    assert resources == {f"arn:aws:s3:::lab-{name}" for name in ("runs", "runs/*", "sealed", "sealed/*")}
    actions = {action: s["Resource"] for s in policy["Statement"] for action in s["Action"]}
    assert actions["s3:PutObject"] == ["arn:aws:s3:::lab-runs/*"]
    assert "s3:DeleteObject" not in actions
    deletes = [s for s in buckets.policy("judge")["Statement"] if s["Action"] == ["s3:DeleteObject"]]
    assert [s["Resource"] for s in deletes] == [["arn:aws:s3:::sealed/*"]]
    assert {statement["Effect"] for statement in policy["Statement"]} == {"Allow"}


@pytest.mark.parametrize("argv", [[], ["policy"], ["policy", "nobody"], ["remove"]])
def test_usage(argv: list[str]) -> None:
    assert (buckets.main(argv) or "").startswith("usage")


def test_making_needs_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIRETRIAL_OBJECTS_URL", raising=False)
    assert "FIRETRIAL_OBJECTS_URL" in (buckets.main(["make"]) or "")
