from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_operate.webhooks import signing

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
ID, AT = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330


def test_the_example_that_the_schemes_own_libraries_are_tested_with() -> None:
    headers = signing.signed([signing.secret_of(SECRET)], ID, AT, BODY)
    assert headers == {
        "webhook-id": ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    signing.verify([signing.secret_of(SECRET)], headers, BODY, AT + 299)


def test_two_secrets_sign_so_that_either_is_enough() -> None:
    old, new, other = (bytes([number]) * 32 for number in (1, 2, 3))
    headers = signing.signed([new, old], ID, AT, BODY)
    for known in ([old], [new], [other, old]):
        signing.verify(known, headers, BODY, AT)
    with pytest.raises(signing.BadSignatureError, match="by one of the secrets"):
        signing.verify([other], headers, BODY, AT)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-id", "msg_other"),
        ("webhook-timestamp", "1614265331"),
        ("webhook-timestamp", "yesterday"),
        ("webhook-timestamp", "٣"),
        ("webhook-signature", ""),
        ("webhook-signature", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ("webhook-signature", "v1,é"),
    ],
)
def test_what_was_changed_on_the_way_is_known(name: str, value: str) -> None:
    key = signing.secret_of(SECRET)
    headers = {**signing.signed([key], ID, AT, BODY), name: value}
    with pytest.raises(signing.BadSignatureError):
        signing.verify([key], headers, BODY, AT)


@pytest.mark.parametrize("late", [-301, 301])
def test_what_was_sent_long_ago_is_not_taken_again(late: int) -> None:
    key = signing.secret_of(SECRET)
    with pytest.raises(signing.BadSignatureError, match="too far from now"):
        signing.verify([key], signing.signed([key], ID, AT, BODY), BODY, AT + late)


@given(st.binary(min_size=24, max_size=64), st.binary(max_size=200), st.integers(0, 199))
def test_any_other_body_is_known(key: bytes, body: bytes, at: int) -> None:
    headers = signing.signed([key], ID, AT, body)
    signing.verify([key], headers, body, AT)
    changed = body[:at] + b"x" + body[at + 1 :]
    if changed != body:
        with pytest.raises(signing.BadSignatureError):
            signing.verify([key], headers, changed, AT)


def test_a_secret_is_long_enough_and_base64() -> None:
    assert signing.secret_of(base64.b64encode(b"k" * 24).decode()) == b"k" * 24
    for text in ("whsec_short", "whsec_" + base64.b64encode(b"k" * 23).decode(), "", "not base64 !"):
        with pytest.raises(ValueError, match="a secret"):
            signing.secret_of(text)
