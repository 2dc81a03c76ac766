"""Signatures of webhooks after the Standard Webhooks scheme, for those who send and those who receive.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
PREFIX = "whsec_"
LEAST, MOST = 24, 64
"""Bytes of a secret."""
TOLERANCE = 300.0
"""Seconds by which a timestamp may be off."""


class BadSignatureError(ValueError):
    """What was received was not sent by who has the secret, or not lately."""


def secret_of(text: str) -> bytes:
    """The bytes of a secret as it is written down: base64, perhaps after "whsec_". Raises ValueError."""
    try:
        found = base64.b64decode(text.strip().removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError("a secret is base64, perhaps after whsec_") from error
    if not LEAST <= len(found) <= MOST:
        raise ValueError(f"a secret has {LEAST} to {MOST} bytes before it is encoded, not {len(found)}")
    return found


def signed(secrets: Iterable[bytes], id_: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers that go with `body`: one signature for each secret, so that receivers can change theirs."""
    signatures = " ".join(_signature(secret, id_, str(timestamp), body) for secret in secrets)
    return {ID: id_, TIMESTAMP: str(timestamp), SIGNATURE: signatures}


def verify(secrets: Iterable[bytes], headers: Mapping[str, str], body: bytes, now: float) -> None:
    """Return where one of the secrets signed `body` within TOLERANCE of `now` (seconds since 1970).

    `headers` are by their names in small letters. Raises BadSignatureError.
    """
    id_, timestamp, given = (headers.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > TOLERANCE:
        raise BadSignatureError(f"the timestamp {timestamp!r} is none, or too far from now")
    wanted = [_signature(secret, id_, timestamp, body).encode() for secret in secrets]
    found = [signature.encode() for signature in given.split()]
    if not any(hmac.compare_digest(one, other) for one in wanted for other in found):
        raise BadSignatureError("no signature is by one of the secrets")


def _signature(secret: bytes, id_: str, timestamp: str, body: bytes) -> str:
    content = b".".join([id_.encode(), timestamp.encode(), body])
    return "v1," + base64.b64encode(hmac.digest(secret, content, hashlib.sha256)).decode()
