"""`Firetrial` does what `AsyncFiretrial` does, without asyncio."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Iterator

import grpc
import pytest

from firetrial.parser.v1 import task_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, Firetrial, FiretrialError
from unit.client.fakes import Server, World


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_both_have_the_same_methods_with_the_same_parameters() -> None:
    assert public(Firetrial) == public(AsyncFiretrial)
    for name in public(Firetrial):
        ours, theirs = getattr(Firetrial, name), getattr(AsyncFiretrial, name)
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), name
        assert ours.__doc__, name
    assert inspect.signature(Firetrial) == inspect.signature(AsyncFiretrial)


def test_calls_lists_and_errors(server: Server, world: World) -> None:
    for number in range(3):
        world.tasks[f"t-{number}"] = task_pb2.Task(id=f"t-{number}")
    with Firetrial(server.endpoint) as client:
        assert client.get_task("t-1").id == "t-1"
        assert [task.id for task in client.list_tasks()] == ["t-0", "t-1", "t-2"]
        assert client.submit_paper(b"x", filename="x.md").paper.filename == "x.md"
        with pytest.raises(FiretrialError) as caught:
            client.get_task("none")
        assert caught.value.reason == "NOT_FOUND"


def test_an_iterator_that_is_left_ends_the_call(server: Server, world: World) -> None:
    ended = threading.Event()

    def watching(_: str, context: grpc.ServicerContext) -> Iterator[run_pb2.Run]:
        context.add_callback(ended.set)
        yield run_pb2.Run(id="r-1")
        ended.wait(10)

    world.watch_runs = watching
    with Firetrial(server.endpoint) as client:
        for found in client.watch_runs("e-1"):
            assert found.id == "r-1"
            break
        assert ended.wait(5)


def test_one_client_serves_several_threads(server: Server, world: World) -> None:
    world.tasks["t-1"] = task_pb2.Task(id="t-1")
    found: list[str] = []
    with Firetrial(server.endpoint) as client:
        threads = [threading.Thread(target=lambda: found.append(client.get_task("t-1").id)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == ["t-1"] * 8


def test_it_leaves_no_thread_behind(server: Server) -> None:
    client = Firetrial(server.endpoint)
    client.health()
    client.close()
    client.close()
    until = time.monotonic() + 2
    while time.monotonic() < until and "firetrial" in {thread.name for thread in threading.enumerate()}:
        time.sleep(0.01)
    assert "firetrial" not in {thread.name for thread in threading.enumerate()}
