"""The judge's entailment behind its real RPC, for tests of who asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog
from prometheus_client import CollectorRegistry

from firetrial.judge.v1 import judge_service_pb2_grpc
from firetrial_judge.entailing import Entailing
from firetrial_judge.entailment_rpcs import EntailmentRpcs
from firetrial_judge.judge import Judge
from firetrial_judge.judges import Judges
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.spending import Purses
from firetrial_kit import rpc
from firetrial_kit.metrics import KitMetrics
from firetrial_kit.neighbours import channel_to
from firetrial_kit.records import Records
from firetrial_kit.spending import Account
from firetrial_kit.testing import InMemoryState, ManualClock
from firetrial_parser.judge_rpc import JudgeByAddress


class _Judge(EntailmentRpcs):
    """A judge service of one RPC."""


_Judge.__abstractmethods__ = frozenset()


@asynccontextmanager
async def judge_service(judge: Judge) -> AsyncIterator[JudgeByAddress]:
    """The parser's way to a judge service that listens on the loopback with this judge."""
    servicer = _Judge()  # type: ignore[abstract]
    purses = Purses(Records(InMemoryState(), "budget", Account), ManualClock())
    servicer.entailing = Entailing(Judges(judge, None), purses, JudgeMetrics(CollectorRegistry()))
    server = rpc.Server("127.0.0.1:0", metrics=KitMetrics(CollectorRegistry()), log=structlog.get_logger())
    add = judge_service_pb2_grpc.add_JudgeServiceServicer_to_server
    server.add("firetrial.judge.v1.JudgeService", add, servicer)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, 0)
        address = f"127.0.0.1:{await server.start()}"
        yield JudgeByAddress(address, await channel_to(address, stack))
