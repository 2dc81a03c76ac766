"""Certificates for tests: an authority, and what it signs for the loopback."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate and its key, as PEM files."""

    cert: Path
    key: Path


def authority(folder: Path, name: str = "ca") -> Signed:
    """One that signs for itself."""
    made = Signed(folder / f"{name}.pem", folder / f"{name}.key")
    _openssl("req", "-x509", *_new(made.key), "-out", made.cert, "-days", "2", "-subj", f"/CN={name}")
    return made


def signed(folder: Path, name: str, by: Signed) -> Signed:
    """One for `name` that is valid on the loopback."""
    made, request, extension = Signed(folder / f"{name}.pem", folder / f"{name}.key"), *_aside(folder, name)
    _openssl("req", *_new(made.key), "-out", request, "-subj", f"/CN={name}")
    extension.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    signer = ("-CA", by.cert, "-CAkey", by.key, "-CAcreateserial", "-extfile", extension)
    _openssl("x509", "-req", "-in", request, *signer, "-out", made.cert, "-days", "2")
    return made


def _aside(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}.csr", folder / f"{name}.cnf"


def _new(key: Path) -> tuple[str | Path, ...]:
    return "-newkey", "rsa:2048", "-nodes", "-keyout", key


def _openssl(*args: str | Path) -> None:
    subprocess.run(["openssl", *args], check=True, capture_output=True)
