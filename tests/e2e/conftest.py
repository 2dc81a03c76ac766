"""One cluster for all end-to-end tests, and the agents that they run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from firetrial_kit.s3 import S3Objects
from support import catalogue, servers
from support.cluster import Cluster, cluster

STUDY = """# Sorting small arrays

## Abstract
We ask how the size of an array changes which sorting method is fastest.

## Question
How does the size of an array change which of two sorting methods is faster?

## Scope
Arrays of 4 to 4096 random integers; insertion sort and merge sort; wall time over 50 repeats.

## Results
Table 1 shows the wall time of both methods by array size.

Table 1: Median wall time by array size and method.

Insertion sort is faster than merge sort on arrays below 32 elements (Table 1).
Merge sort is faster than insertion sort on arrays above 128 elements (Table 1).
"""


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short study in Markdown, written for these tests."""
    path = tmp_path_factory.mktemp("study") / "sorting.md"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Cluster]:
    """Four processes on their own nats-server and a real S3 server; all they tell is in the catalogue."""
    folder = tmp_path_factory.mktemp("cluster")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with servers.nats_server(folder / "nats") as nats_url, cluster(folder, nats_url, s3_server) as found:
        yield found
        asyncio.run(catalogue.prove(nats_url))
