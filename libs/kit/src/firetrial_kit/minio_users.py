"""MinIO's users: one for each service, with the rights that `firetrial_kit.objects` grants it and no others.

python -m firetrial_kit.minio_users FOLDER   # FIRETRIAL_OBJECTS_URL, and MinIO's own admin keys

FOLDER holds the secret of each as <service>-s3-secret-key. Made again, a user has the secret and the rights
of now.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import urllib3
from minio.credentials.providers import StaticProvider
from minio.error import MinioAdminException, MinioException
from minio.minioadmin import MinioAdmin

from firetrial_kit.buckets import policy
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import GRANTS
from firetrial_kit.settings import CommonSettings, SettingsError

_ATTACHED = "XMinioAdminPolicyChangeAlreadyApplied"


def make(settings: CommonSettings, folder: Path) -> None:
    """Raises UNAVAILABLE where MinIO does not take one, OSError for a secret that is missing."""
    admin = _admin(settings)
    for service in GRANTS:
        secret = (folder / f"{service}-s3-secret-key").read_text("utf-8").strip()
        name = f"firetrial-{service}"
        try:
            admin.policy_add(name, policy=policy(service, settings.bucket_prefix))
            admin.user_add(service, secret)
            _attach(admin, name, service)
        except (MinioException, MinioAdminException, urllib3.exceptions.HTTPError) as error:
            told = f"MinIO did not take the user {service}: {error}"
            raise FiretrialError(Reason.UNAVAILABLE, told) from error


def _admin(settings: CommonSettings) -> MinioAdmin:
    url, ca = urlsplit(settings.objects_url), settings.objects_tls_ca
    return MinioAdmin(
        endpoint=url.netloc,
        credentials=StaticProvider(settings.s3_access_key, settings.s3_secret_key.get_secret_value()),
        region=settings.s3_region,
        secure=url.scheme == "https",
        http_client=urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=5, read=30),
            cert_reqs="CERT_REQUIRED",
            ca_certs=str(ca) if ca else None,
        ),
    )


def _attach(admin: MinioAdmin, name: str, user: str) -> None:
    try:
        admin.attach_policy([name], user=user)
    except MinioAdminException as error:
        if _ATTACHED not in str(error):
            raise


def main(argv: Sequence[str]) -> str | None:
    """Returns what went wrong, or None."""
    if len(argv) != 1:
        return "usage: FOLDER"
    try:
        make(CommonSettings.from_env(os.environ), Path(argv[0]))
    except (SettingsError, FiretrialError, OSError) as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
