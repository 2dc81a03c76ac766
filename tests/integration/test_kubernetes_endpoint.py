"""How the endpoint goes: what its pod does before it is ended, done to a real Envoy."""

from __future__ import annotations

import http.client
import ssl
import subprocess
import urllib.error
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from support import envoy, servers, tls

pytestmark = pytest.mark.needs("envoy", "openssl", "bash")
MANIFEST = tls.DEPLOY / "kubernetes" / "base" / "envoy.yaml"


def test_clients_are_told_to_go_elsewhere_before_the_endpoint_ends(tmp_path: Path) -> None:
    deployment = next(yaml.safe_load_all(MANIFEST.read_text()))["spec"]["template"]["spec"]
    program, option, script = deployment["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert f"sleep {deployment['terminationGracePeriodSeconds'] // 2}\n" in script
    secrets = tls.secrets(tmp_path / "secrets")
    upstreams = dict.fromkeys(("parser", "runner", "judge", "analyzer"), servers.free_port())
    trusted = ssl.create_default_context(cafile=secrets / "client" / "ca.pem")
    with envoy.envoy(tmp_path / "envoy", secrets / "envoy", upstreams) as found:
        client = http.client.HTTPSConnection("localhost", found.port, timeout=10, context=trusted)

        def asked() -> str | None:
            client.request("POST", "/firetrial.judge.v1.JudgeService/GetJudgement")
            with client.getresponse() as answer:
                answer.read()
                return answer.getheader("connection")

        assert asked() is None  # it is kept open
        here = script.replace("/9902", f"/{found.admin}").replace("sleep 20", "")
        assert (
            "200 OK"
            in subprocess.run([program, option, here], check=True, capture_output=True, text=True).stdout
        )
        assert asked() == "close"
        with pytest.raises(urllib.error.HTTPError, match="503"):
            found.figure("/ready")
