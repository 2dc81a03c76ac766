"""Single requests to an S3-compatible store, with all that its answers say: the client proper hides that."""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Self
from urllib.parse import urlsplit

import httpx
from minio.credentials.credentials import Credentials
from minio.signer import sign_v4_s3

from firetrial_operate.doctor import certificates
from firetrial_operate.doctor.checks import BrokenError
from firetrial_operate.doctor.installation import Who

_PATIENCE_S = 5.0
_EMPTY = hashlib.sha256(b"").hexdigest()
_CODE = re.compile(rb"<Code>(\w{1,64})</Code>")
_UPLOAD = re.compile(rb"<UploadId>([^<]{1,512})</UploadId>")


class Answer:
    """Of one request: its status, and the store's own word for what was wrong."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers = response.headers
        found = _CODE.search(response.content)
        self.code = found[1].decode() if found else ""
        upload = _UPLOAD.search(response.content)
        self.upload = upload[1].decode() if upload else ""

    @property
    def refused(self) -> bool:
        return self.status in (401, 403)

    def __str__(self) -> str:
        return f"{self.status} {self.code}".strip()


class Store:
    """The store as one user sees it."""

    def __init__(self, who: Who, http: httpx.AsyncClient) -> None:
        self._settings, self._http = who.settings, http

    @classmethod
    def of(cls, who: Who) -> Self:
        """To be closed. Raises BrokenError for an authority that cannot be read."""
        trusted: ssl.SSLContext | bool = True
        if who.settings.objects_url.startswith("https://"):
            trusted = certificates.trust(who.settings.objects_tls_ca)
        return cls(who, httpx.AsyncClient(verify=trusted, timeout=_PATIENCE_S, trust_env=False))

    async def aclose(self) -> None:
        await self._http.aclose()

    async def greet(self) -> httpx.Response:
        """What it says to a stranger."""
        return await self._sent("GET", self._settings.objects_url.rstrip("/") + "/", {}, b"")

    async def ask(
        self, method: str, bucket: str, key: str = "", *, query: str = "", body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:  # fmt: skip
        """One signed request. Raises BrokenError where there is no answer."""
        told = self._settings
        place = f"{told.objects_url.rstrip('/')}/{told.bucket_prefix}{bucket}"
        url = (f"{place}/{key}" if key else place) + (f"?{query}" if query else "")
        now, sha256 = datetime.now(UTC), hashlib.sha256(body).hexdigest() if body else _EMPTY
        signed = sign_v4_s3(
            method=method,
            url=urlsplit(url),
            region=told.s3_region,
            headers={
                "Host": urlsplit(url).netloc,
                "x-amz-content-sha256": sha256,
                "x-amz-date": now.strftime("%Y%m%dT%H%M%SZ"),
                **(headers or {}),
            },
            credentials=Credentials(told.s3_access_key, told.s3_secret_key.get_secret_value()),
            content_sha256=sha256,
            date=now,
        )
        return Answer(await self._sent(method, url, signed, body))

    async def _sent(
        self, method: str, url: str, headers: Mapping[str, object], body: bytes
    ) -> httpx.Response:
        told = {name: str(value) for name, value in headers.items()}
        try:
            return await self._http.request(method, url, headers=told, content=body)
        except httpx.HTTPError as error:
            where = urlsplit(url).netloc
            why = str(error) or type(error).__name__
            raise BrokenError(
                f"no answer from {where}: {why}", "start it, or mend FIRETRIAL_OBJECTS_URL"
            ) from None
