from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit import tenants
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryState

names = st.from_regex(tenants.FORM, fullmatch=True).filter(lambda name: name != tenants.LOCAL)
ids = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)


@given(names, ids)
def test_an_id_says_whose_it_is(name: str, id_: str) -> None:
    assert tenants.of(tenants.tag(name) + id_) == name


@given(names, names, ids)
def test_no_id_in_a_request_names_what_is_anothers(mine: str, other: str, id_: str) -> None:
    with tenants.acting(mine):
        for given_id in (id_, tenants.tag(other) + id_, tenants.tag(mine) + id_):
            assert tenants.of(tenants.asked(given_id)) == mine
            assert tenants.asked(tenants.asked(given_id)) == tenants.asked(given_id)


@given(names, ids)
def test_who_is_kept_to_the_installations_own_names_no_tenants(other: str, id_: str) -> None:
    with tenants.acting(tenants.LOCAL):
        found = tenants.asked(tenants.tag(other) + id_)
        assert found.startswith("t-local--")
        assert not tenants.sees(tenants.tag(other) + id_)


@given(names, ids)
def test_what_is_made_is_the_makers(name: str, id_: str) -> None:
    with tenants.acting(name):
        made = tenants.mine(id_)
        assert tenants.of(made) == name
        assert tenants.mine(made) == made
        assert tenants.sees(made)
    assert tenants.of(tenants.beside(made, "r-1")) == name


def test_without_tenants_ids_are_what_they_were() -> None:
    assert tenants.mine("e-1") == tenants.asked("e-1") == tenants.beside("t-1", "e-1") == "e-1"
    assert tenants.apart("ab") == "ab"


def test_no_name_is_let_through_that_looks_like_a_tenants() -> None:
    with pytest.raises(FiretrialError) as caught:
        tenants.mine("t-acme--task-0123")
    assert caught.value.reason is Reason.INVALID


def test_what_is_kept_for_who_asks_again_is_kept_for_each_tenant_apart() -> None:
    with tenants.acting("acme"):
        acme = tenants.apart("ab")
    with tenants.acting("umbra"):
        umbra = tenants.apart("ab")
    assert len({acme, umbra, tenants.apart("ab")}) == 3


async def test_records_of_others_do_not_exist() -> None:
    state = InMemoryState()
    records = Records(state, "thing", int)
    for tenant, value in (("acme", 1), ("umbra", 2)):
        with tenants.acting(tenant):
            for number in range(3):
                assert await records.create(tenants.mine(f"x{number}"), value)
    theirs = tenants.tag("umbra") + "x1"
    with tenants.acting("acme"):
        assert await records.find(theirs) is None
        with pytest.raises(FiretrialError) as get, tenants.acting("acme"):
            await records.get(theirs)
        with pytest.raises(FiretrialError) as change:
            await records.change(theirs, lambda value: value + 1)
        missing = f"t-acme--{theirs}"
        with pytest.raises(FiretrialError) as none:
            await records.get(missing)
        assert get.value.reason is change.value.reason is none.value.reason is Reason.NOT_FOUND
        assert get.value.message.replace(theirs, "") == none.value.message.replace(missing, "")
        assert await records.ids() == [f"t-acme--x{n}" for n in range(3)]
        page, token = await records.page(2, "")
        assert (page, token) == ([1, 1], "t-acme--x1")
        assert await records.page(2, token) == ([1], "")
        with pytest.raises(FiretrialError):
            await records.page(2, theirs)
        with pytest.raises(ValueError, match="not made for acme"):
            await records.create(theirs, 3)
    assert len(await records.ids()) == 6
    assert await records.get(theirs) == 2


async def test_a_watch_shows_nothing_of_others() -> None:
    records = Records(InMemoryState(), "thing", int)
    for tenant, value in (("umbra", 2), ("acme", 1)):
        with tenants.acting(tenant):
            await records.create(tenants.mine("x"), value)
    with tenants.acting("acme"):
        async for value in records.watch():
            assert value == 1
            break


async def test_what_all_have_in_common_is_seen_by_all() -> None:
    records = Records(InMemoryState(), "pool", int, shared=True)
    await records.create("default", 1)
    with tenants.acting("acme"):
        assert await records.get("default") == 1
        assert await records.create("gpu", 2)
