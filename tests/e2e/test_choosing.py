"""Choosing papers on real servers: a batch that outlives the parser, and a tree that two people accept."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1.paper_pb2 import Node
from firetrial_client import Firetrial
from firetrial_kit.s3 import S3Objects
from support import servers
from support.cluster import Cluster
from support.scripted_models import Reply, Request, ScriptedModels, answer

pytestmark = [pytest.mark.needs("nats-server", "weed"), pytest.mark.timeout(180)]
ITEMS = 60
QUOTE = "Accuracy falls above seven."
_IN_FLIGHT = 8  # the parser's own limit of requests under way


def item(number: int) -> dict[str, str]:
    return {
        "id": f"i{number}",
        "title": f"Do language models count? Study {number}",
        "abstract": f"We measure how well open models count in setting {number}. {QUOTE}",
    }


class Script:
    """Answers both prompts and counts who asked what."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()

    def reply(self, request: Request) -> Reply:
        title = request.prompt.partition("TITLE\n")[2].partition("\n")[0]
        if "You sort research papers" in request.prompt:
            self.asked["contribution", title] += 1
            return answer({"kind": "EMPIRICAL", "reason": "It asks.", "close": False}).after(0.02)
        self.asked["criteria", title] += 1
        reasons = [{"text": "It says so.", "quote": QUOTE}]
        names = ("OPEN_INPUTS", "COMPUTE_LIGHT", "VERIFIABLE_FINDINGS")
        verdicts = [{"criterion": name, "met": "YES", "reasons": reasons} for name in names]
        return answer({"criteria": verdicts}).after(0.02)


@pytest.fixture
def parser(tmp_path: Path, s3_server: servers.S3) -> Iterator[Cluster]:
    """A parser alone, not yet started."""
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with servers.nats_server(tmp_path / "nats") as nats_url:
        found = Cluster(tmp_path, nats_url, s3_server)
        try:
            yield found
        finally:
            for process in found.processes.values():
                servers.end(process)


def address(parser: Cluster) -> str:
    return f"127.0.0.1:{parser.ports['parser']}"


def test_a_batch_outlives_the_parser_and_nothing_is_paid_twice(parser: Cluster, tmp_path: Path) -> None:
    batch = tmp_path / "items.jsonl"
    batch.write_text("\n".join(json.dumps(item(number)) for number in range(ITEMS)) + "\nno JSON\n")
    script = Script()
    with ScriptedModels(script.reply) as models:
        prices = json.dumps({"m": {"prompt": 2.0, "completion": 10.0, "cached": 1.0}})
        parser.environ |= {
            "FIRETRIAL_PARSER_MODEL_URL": models.base_url,
            "FIRETRIAL_PARSER_MODEL_NAME": "m",
            "FIRETRIAL_PARSER_PRICES": prices,
        }
        parser.start("parser")
        with Firetrial(address(parser)) as client:
            screening = client.submit_screening(batch)
            until = time.monotonic() + 60
            while script.asked.total() < ITEMS and time.monotonic() < until:
                time.sleep(0.01)
            parser.kill("parser")
            before = script.asked.total()
            parser.start("parser")
            *_, ended = client.watch_screening(screening.id, timeout=90)
            found = list(client.screened_papers(screening.id))
    assert ITEMS <= before < 2 * ITEMS
    assert (ended.counts.fit, ended.counts.errors, ended.counts.items) == (ITEMS, 1, ITEMS + 1)
    assert [paper.place for paper in found] == list(range(1, ITEMS + 2))
    assert len(script.asked) == 2 * ITEMS
    assert script.asked.total() - 2 * ITEMS <= _IN_FLIGHT, "what was asked again is what was in flight"
    assert 0 < sum(use.cost_usd for use in ended.usage) <= script.asked.total() * 280e-6 + 1e-9


def test_two_people_accept_an_edited_tree_and_a_task_is_made_of_it(parser: Cluster, study: Path) -> None:
    parser.start("parser")
    finding = "Insertion sort is faster than merge sort on arrays below 32 elements."
    with Firetrial(address(parser)) as client:
        paper = client.submit_paper(study).paper.id
        *_, read = client.watch_paper(paper, timeout=60)
        review = f"t-{paper[:12]}"
        servers.wait_for(
            lambda: [one.id for one in client.list_reviews(kind="tree")] == [review], "the queue"
        )
        tree = client.get_review(review).tree
        leaf = next(node.path for node in _walk(tree) if node.evidence)
        edited = firetrial(
            parser,
            "edit",
            review,
            "--version",
            "1",
            "--set",
            leaf,
            "conclusion",
            finding,
            "--reviewer",
            "Ada",
        )
        assert edited["review"]["version"] == 2
        stale = firetrial(parser, "review", review, "--accept", "--version", "1", code=1)
        assert stale["error"]["reason"] == "CONFLICT"
        said = {"version": 2, "reason": "checked against Table 1"}
        client.decide_review(review, reviewer="Ada", verdict="accept", **said)  # type: ignore[arg-type]
        assert not client.get_review(review, reviewer="Bob").review.decisions
        client.decide_review(review, reviewer="Bob", verdict="reject", **said)  # type: ignore[arg-type]
        client.resolve_review(review, by=["Eve"], verdict="accept", **said)  # type: ignore[arg-type]
        assert client.get_review_agreement().overall.resolved == 1
        made = client.make_reviewed_task(review, leaf_path=leaf).task
    assert made.paper_id == paper
    assert made.id not in read.task_ids, "another finding is another task"


def firetrial(parser: Cluster, *argv: str, code: int = 0) -> Any:
    """What `firetrial papers` answers in JSON."""
    environ = {**os.environ, "FIRETRIAL_ENDPOINT": address(parser)}
    command = [str(servers.BIN / "firetrial"), "papers", *argv, "--json"]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
    assert ended.returncode == code, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)
