"""The parser as a process, with a model on the wire, a real broker and a real S3 server: paid for once.

FIRETRIAL_BENCH=full adds a second installation over the same store.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from firetrial.parser.v1.paper_pb2 import PAPER_STATE_READY, Paper
from firetrial_client import Firetrial
from firetrial_kit.s3 import S3Objects
from support import servers
from support.cluster import Cluster
from support.scripted_models import Reply, Request, ScriptedModels, answer
from unit.parser.answers import ANSWERS
from unit.parser.study import TEXT

pytestmark = [pytest.mark.needs("nats-server"), pytest.mark.timeout(120)]

PRICES = {"scripted": {"prompt": 2.0, "completion": 10.0, "cached": 1.0}}


def purpose(request: Request) -> str:
    return str(request.body["response_format"]["json_schema"]["name"])


def right(request: Request) -> Reply:
    return answer(ANSWERS[purpose(request)])


@pytest.fixture
def models() -> Iterator[ScriptedModels]:
    with ScriptedModels(right) as found:
        yield found


def installation(stack: ExitStack, folder: Path, s3: servers.S3, models: ScriptedModels) -> Cluster:
    """A parser of its own on a new broker, over a store that is there already."""
    found = Cluster(folder, stack.enter_context(servers.nats_server(folder / "nats")), s3)
    found.environ = {
        "FIRETRIAL_PARSER_MODEL_URL": models.base_url,
        "FIRETRIAL_PARSER_MODEL_NAME": "scripted",
        "FIRETRIAL_PARSER_PRICES": json.dumps(PRICES),
    }
    found.start("parser")
    stack.callback(lambda: servers.end(found.processes["parser"]))
    return found


def client_of(system: Cluster) -> Firetrial:
    return Firetrial(f"127.0.0.1:{system.ports['parser']}")


def parsed(system: Cluster) -> Paper:
    with client_of(system) as client:
        paper = client.submit_paper(TEXT.encode(), filename="study.md").paper
        *_, last = client.watch_paper(paper.id, timeout=60)
    return last


def counted(system: Cluster) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{system.metrics('parser')}/metrics") as answered:
        lines = answered.read().decode().splitlines()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines) if name[:1] != "#"
    }


def test_cost_retries_and_cache_are_right_to_the_call(
    tmp_path: Path, s3_server: servers.S3, models: ScriptedModels
) -> None:
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with ExitStack() as stack:
        first = installation(stack, tmp_path / "first", s3_server, models)
        paper = parsed(first)
        assert paper.state == PAPER_STATE_READY, paper.failure
        asked = Counter(map(purpose, models.requests))
        assert (asked["tree-outline"], asked["tree-part"]) == (1, 1)
        assert paper.extraction == "model scripted, prompt v2"
        for usage in paper.usage:
            # 100 prompt tokens, 20 of them cached, and 10 of the answer
            assert (usage.calls, usage.prompt_tokens, usage.cached_tokens, usage.cache_hits) == (
                1,
                100,
                20,
                0,
            )
            assert usage.cost_usd == pytest.approx((80 * 2 + 20 * 1 + 10 * 10) / 1e6)
        asked_for, by = 'model="scripted",purpose="tree-part"', 'service="parser"'
        seen = counted(first)
        assert seen[f'firetrial_model_calls_total{{{asked_for},result="answered",{by}}}'] == 1
        assert seen[f"firetrial_model_cost_usd_total{{{asked_for},{by}}}"] == pytest.approx(280e-6)

        again = parsed(first)
        assert list(again.usage) == list(paper.usage)
        assert Counter(map(purpose, models.requests)) == asked
        if os.environ.get("FIRETRIAL_BENCH") != "full":
            return
        # An installation that has lost its state, not its store, parses the paper anew and asks nothing.
        second = installation(stack, tmp_path / "second", s3_server, models)
        anew = parsed(second)
        assert Counter(map(purpose, models.requests)) == asked
        assert [(u.purpose, u.calls, u.cost_usd, u.cache_hits) for u in anew.usage] == [
            ("tree-outline", 0, 0.0, 1),
            ("tree-part", 0, 0.0, 1),
        ]
        with client_of(first) as one, client_of(second) as other:
            assert one.get_whole_tree(paper.id) == other.get_whole_tree(paper.id)
