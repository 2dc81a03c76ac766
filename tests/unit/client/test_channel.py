"""TLS: the server's certificate is checked, and the client shows its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from firetrial.parser.v1 import parser_service_pb2_grpc
from firetrial_client import AsyncFiretrial, FiretrialError
from unit.client.fakes import Parser, World

pytestmark = pytest.mark.needs("openssl")


def openssl(*args: str) -> None:
    subprocess.run(["openssl", *args], check=True, capture_output=True)


def certificate(folder: Path, name: str, ca: str) -> None:
    """name.pem and name.key in `folder`, signed by `ca`."""
    key, request, pem = (str(folder / f"{name}.{ending}") for ending in ("key", "csr", "pem"))
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}")
    extension = folder / "extension.cnf"
    extension.write_text("subjectAltName=IP:127.0.0.1\n")
    authority = ("-CA", str(folder / f"{ca}.pem"), "-CAkey", str(folder / f"{ca}.key"), "-CAcreateserial")
    openssl("x509", "-req", "-in", request, *authority, "-out", pem, "-days", "2", "-extfile", str(extension))


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    for ca in ("ca", "other"):
        key, pem = str(folder / f"{ca}.key"), str(folder / f"{ca}.pem")
        openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", pem, "-subj", f"/CN={ca}"
        )
    for name in ("server", "client"):
        certificate(folder, name, "ca")
    return folder


@pytest.fixture
def endpoint(pki: Path) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(4))
    parser_service_pb2_grpc.add_ParserServiceServicer_to_server(Parser(World()), server)
    credentials = grpc.ssl_server_credentials(
        [((pki / "server.key").read_bytes(), (pki / "server.pem").read_bytes())],
        (pki / "ca.pem").read_bytes(),
        require_client_auth=True,
    )
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


def environ(pki: Path, ca: str = "ca", own: str = "client") -> dict[str, str]:
    found = {"FIRETRIAL_TLS_CA": str(pki / f"{ca}.pem")}
    if own:
        found |= {"FIRETRIAL_TLS_CERT": str(pki / f"{own}.pem"), "FIRETRIAL_TLS_KEY": str(pki / f"{own}.key")}
    return found


async def test_calls_and_uploads_over_tls(pki: Path, endpoint: str) -> None:
    async with AsyncFiretrial(endpoint, environ=environ(pki)) as client:
        paper = (await client.submit_paper(b"# A study", filename="a.md")).paper
        assert (await client.get_paper(paper.id)).filename == "a.md"


@pytest.mark.parametrize(("ca", "own"), [("other", "client"), ("ca", "")])
async def test_who_cannot_be_trusted(ca: str, own: str, pki: Path, endpoint: str) -> None:
    async with AsyncFiretrial(endpoint, environ=environ(pki, ca, own)) as client:
        with pytest.raises(FiretrialError) as caught:
            await client.get_paper("p")
        assert caught.value.reason == "UNAVAILABLE"
        with pytest.raises(FiretrialError) as caught:
            await client.submit_paper(b"x", filename="a.md")
        assert caught.value.reason == "UNAVAILABLE"


async def test_plain_text_to_a_server_with_tls(endpoint: str) -> None:
    async with AsyncFiretrial(endpoint, environ={}) as client:
        with pytest.raises(FiretrialError) as caught:
            await client.get_paper("p")
    assert caught.value.reason == "UNAVAILABLE"
