from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_operate import contracts
from firetrial_operate.webhooks.endpoint import Endpoint, subjects, url_fault

KNOWN = {
    ("runner", "run_finished"),
    ("runner", "run_started"),
    ("judge", "run_judged"),
    ("*", "call_audited"),
}


@pytest.mark.parametrize(
    ("patterns", "filters"),
    [
        (["runner.run_finished"], ["ft.evt.runner.v1.run_finished.*"]),
        (["runner.*", "runner.run_started"], ["ft.evt.runner.v1.>"]),
        (["judge.run_judged", "*"], ["ft.evt.>"]),
        (["*.run_judged"], ["ft.evt.judge.v1.run_judged.*"]),
        (["*.call_audited"], ["ft.evt.judge.v1.call_audited.*", "ft.evt.runner.v1.call_audited.*"]),
        (["judge.call_audited"], ["ft.evt.judge.v1.call_audited.*"]),
        (["runner.run_started", "runner.run_started"], ["ft.evt.runner.v1.run_started.*"]),
        (["runner.*", "*.call_audited"], ["ft.evt.runner.v1.>", "ft.evt.judge.v1.call_audited.*"]),
    ],
)
def test_patterns_become_filters_that_do_not_overlap(patterns: list[str], filters: list[str]) -> None:
    assert list(subjects(patterns, KNOWN)) == filters


@pytest.mark.parametrize(
    "pattern", ["run_finished", "runner.run_finishd", "nobody.*", "runner.>", "", "*.*", "judge."]
)
def test_a_pattern_that_would_never_fit_is_refused(pattern: str) -> None:
    with pytest.raises(KeyError):
        list(subjects([pattern], KNOWN))


FACTS = ("run_finished", "run_judged", "call_audited")
PATTERNS = ["*", *(f"{service}.{fact}" for service in ("*", "runner", "judge") for fact in ("*", *FACTS))]


@given(st.lists(st.sampled_from(PATTERNS), min_size=1))
def test_no_fact_is_covered_by_two_filters(patterns: list[str]) -> None:
    try:
        filters = list(subjects(patterns, KNOWN))
    except KeyError:
        return
    for place in (f"ft.evt.{service}.v1.{fact}." for service in ("runner", "judge") for fact in FACTS):
        assert sum(one == f"{place}*" or place.startswith(one.removesuffix(">")) for one in filters) <= 1


def test_the_facts_that_are_installed_are_known() -> None:
    assert {
        ("runner", "run_finished"),
        ("analyzer", "experiment_reported"),
        ("parser", "task_created"),
    } < contracts.facts()


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example/a?b=c", "https://hooks.example:8443", "http://127.0.0.1:8080/x", "http://[::1]:1/",
        "http://localhost/",
    ],
)  # fmt: skip
def test_addresses_that_may_be(url: str) -> None:
    assert url_fault(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/", "ftp://hooks.example/", "hooks.example", "https://", "https://user:key@hooks.example/",
        "https://hooks.example/#a", "https://hooks.example:0/", "https://hooks.example:99999/", "https://[::1/",
        "https://hooks.example/a b", "https://hooks.example/\r\nHost: x", "https://hööks.example/",
        "http://127.0.0.1.hooks.example/", "http://10.0.0.1/",
    ],
)  # fmt: skip
def test_addresses_that_may_not_be(url: str) -> None:
    assert url_fault(url)


def test_a_tenant_is_told_of_its_own() -> None:
    def endpoint(tenant: str) -> Endpoint:
        return Endpoint("lab", "https://x.example/", (), (), tenant=tenant)

    keys = ["r-1", "t-test@057b", "t-blue--r-1", "t-blue-2--r-1", "t-red--r-1"]
    assert [key for key in keys if endpoint("").wants(key)] == keys
    assert [key for key in keys if endpoint("blue").wants(key)] == ["t-blue--r-1"]
    assert [key for key in keys if endpoint("local").wants(key)] == ["r-1", "t-test@057b"]


def test_what_signs_is_not_shown() -> None:
    shown = repr(Endpoint("lab", "https://x.example/", (), (b"key" * 8,), {"authorization": "token"}))
    assert "key" not in shown
    assert "token" not in shown
