"""A tenant's month of USD, where a service asks models for it: a parser as a process, a model on the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from firetrial.parser.v1.paper_pb2 import PAPER_STATE_READY, Paper
from firetrial_client import Firetrial
from firetrial_kit import tokens
from firetrial_kit.s3 import S3Objects
from support import servers
from support.cluster import Cluster
from support.scripted_models import Reply, Request, ScriptedModels, answer
from unit.parser.answers import ANSWERS
from unit.parser.study import TEXT

pytestmark = [pytest.mark.needs("nats-server"), pytest.mark.timeout(120)]
TOKENS = {name: tokens.new_token() for name in ("acme", "umbra")}


def right(request: Request) -> Reply:
    return answer(ANSWERS[request.body["response_format"]["json_schema"]["name"]])


@pytest.fixture
def models() -> Iterator[ScriptedModels]:
    with ScriptedModels(right) as found:
        yield found


def quotas(acme: float) -> dict[str, object]:
    entries = [
        {"name": name, "tenant": name, "scopes": ["submit", "read"], "sha256": tokens.hashed(token)}
        for name, token in TOKENS.items()
    ]
    return {"tenants": {"acme": {"quotas": {"usd_per_month": acme}}, "umbra": {}}, "tokens": entries}


def parsed(system: Cluster, name: str, text: str = TEXT) -> Paper:
    address, environ = f"127.0.0.1:{system.ports['parser']}", {"FIRETRIAL_TOKEN": TOKENS[name]}
    with Firetrial(address, environ=environ) as client:
        paper = client.submit_paper(text.encode(), filename="study.md").paper
        *_, last = client.watch_paper(paper.id, timeout=60)
    return last


def test_what_a_service_asks_for_a_tenant_counts(
    tmp_path: Path, nats_url: str, s3_server: servers.S3, models: ScriptedModels
) -> None:
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps(quotas(acme=0.001)))
    system = Cluster(tmp_path, nats_url, s3_server)
    system.environ = {
        "FIRETRIAL_TOKENS_FILE": str(path),
        "FIRETRIAL_PARSER_MODEL_URL": models.base_url,
        "FIRETRIAL_PARSER_MODEL_NAME": "scripted",
        "FIRETRIAL_PARSER_PRICES": json.dumps({"scripted": {"prompt": 2.0, "completion": 10.0}}),
    }
    system.start("parser")
    try:
        refused = parsed(system, "acme")
        assert refused.state != PAPER_STATE_READY
        assert "quotas.usd_per_month" in refused.failure
        assert not models.requests
        assert parsed(system, "umbra").state == PAPER_STATE_READY
        asked = len(models.requests)
        assert asked
        path.write_text(json.dumps(quotas(acme=10.0)))
        assert parsed(system, "acme", f"{TEXT}\n").state == PAPER_STATE_READY
        assert len(models.requests) > asked
    finally:
        servers.end(system.processes["parser"])
