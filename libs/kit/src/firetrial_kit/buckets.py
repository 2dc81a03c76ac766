"""Make the buckets, or print who may touch them: what a deployment does once.

python -m firetrial_kit.buckets make      # FIRETRIAL_OBJECTS_URL and the store's own admin keys
python -m firetrial_kit.buckets grants    # {"runner": {"read": ["runs", …], "write": ["runs"], …}, …}
python -m firetrial_kit.buckets policy runner   # the same as an S3 policy, for MinIO
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from firetrial_kit.errors import FiretrialError
from firetrial_kit.objects import GRANTS
from firetrial_kit.s3 import S3Objects
from firetrial_kit.service import open_objects
from firetrial_kit.settings import CommonSettings, SettingsError


def grants() -> dict[str, dict[str, list[str]]]:
    """The buckets that each service may read, write, and delete from."""
    return {
        name: {
            "read": sorted(grant.read),
            "write": sorted(grant.write),
            "delete": sorted(grant.delete),
        }
        for name, grant in GRANTS.items()
    }


def policy(service: str, bucket_prefix: str = "") -> dict[str, Any]:
    """What `service` may do, as an S3 policy document."""
    grant = GRANTS[service]
    write = ("s3:PutObject", "s3:AbortMultipartUpload")  # a large object that fails is not left in parts
    statements: list[tuple[tuple[str, ...], frozenset[str], str]] = [
        (("s3:ListBucket",), grant.read, ""),
        (("s3:GetObject",), grant.read, "/*"),
        (write, grant.write, "/*"),
        (("s3:DeleteObject",), grant.delete, "/*"),
    ]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": [*actions],
                "Resource": [f"arn:aws:s3:::{bucket_prefix}{bucket}{suffix}" for bucket in sorted(buckets)],
            }
            for actions, buckets, suffix in statements
            if buckets
        ],
    }


def make(settings: CommonSettings) -> None:
    """Make the buckets where they are missing. Raises FiretrialError."""
    store = open_objects(settings, "parser")
    if isinstance(store, S3Objects):
        asyncio.run(store.ensure_buckets())


def main(argv: Sequence[str]) -> str | None:
    """Returns what went wrong, or None."""
    match list(argv):
        case ["make"]:
            try:
                make(CommonSettings.from_env(os.environ))
            except (SettingsError, FiretrialError) as error:
                return str(error)
        case ["grants"]:
            sys.stdout.write(json.dumps(grants(), indent=2) + "\n")
        case ["policy", service] if service in GRANTS:
            prefix = os.environ.get("FIRETRIAL_BUCKET_PREFIX", "")
            sys.stdout.write(json.dumps(policy(service, prefix), indent=2) + "\n")
        case _:
            return f"usage: make | grants | policy {'|'.join(GRANTS)}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
