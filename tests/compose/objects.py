"""SeaweedFS in MinIO's place: takes its arguments, its certificate and its root user, and knows the services.

What MinIO is told by firetrial_kit.minio_users, SeaweedFS reads from a file: /run/grants.json is
`python -m firetrial_kit.buckets grants`, and the secrets lie in /run/setup.
"""

import json
import os
import sys
from pathlib import Path

SETUP = Path("/run/setup")


def identity(name: str, secret: str, actions: list[str]) -> dict[str, object]:
    return {"name": name, "credentials": [{"accessKey": name, "secretKey": secret}], "actions": actions}


def main() -> None:
    arguments = sys.argv[1:]
    assert arguments[:2] == ["server", "/data"], arguments
    certs = Path(arguments[arguments.index("--certs-dir") + 1])
    port = arguments[arguments.index("--address") + 1].removeprefix(":")
    root = Path(os.environ["MINIO_ROOT_PASSWORD_FILE"]).read_text()
    known = [identity(os.environ["MINIO_ROOT_USER"], root, ["Admin", "Read", "Write", "List", "Tagging"])]
    for service, grant in json.loads(Path("/run/grants.json").read_text()).items():
        actions = [f"{verb}:{bucket}" for bucket in grant["read"] for verb in ("Read", "List")]
        actions += [f"Write:{bucket}" for bucket in grant["write"]]
        known.append(identity(service, (SETUP / f"{service}-s3-secret-key").read_text(), actions))
    folder = Path("/tmp/weed")
    folder.mkdir(exist_ok=True)
    (folder / "ids.json").write_text(json.dumps({"identities": known}))
    os.chdir(folder)
    argv = ["weed", "mini", "-dir=/data", "-ip=127.0.0.1", "-ip.bind=0.0.0.0", f"-s3.port={port}"]
    argv += ["-s3.config=ids.json", f"-s3.cert.file={certs}/public.crt", f"-s3.key.file={certs}/private.key"]
    argv += ["-admin.ui=false", "-webdav=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    os.execvp("weed", [*argv, "-master.telemetry=false"])  # noqa: S606 - becomes it, as an entry point does


main()
