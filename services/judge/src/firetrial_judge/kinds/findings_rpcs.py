"""Findings, asked of the analyzer service over its contract."""

from __future__ import annotations

import grpc

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial.runner.v1 import run_pb2
from firetrial_judge.kinds.findings import Found
from firetrial_kit.neighbours import refused, traced

TIMEOUT = 600.0  # seconds; a trajectory of a gigabyte takes a minute


class AnalyzerByAddress:
    """The analyzer service at `host:port`."""

    def __init__(self, address: str, channel: grpc.aio.Channel) -> None:
        self._address = address
        self._analyzer = analyzer_service_pb2_grpc.AnalyzerServiceStub(channel)

    async def check(self, run: run_pb2.Run) -> tuple[Found, ...]:
        try:
            answer = await self._analyzer.CheckIntegrity(
                pb.CheckIntegrityRequest(run=run), timeout=TIMEOUT, metadata=traced(), wait_for_ready=False
            )
        except grpc.aio.AioRpcError as error:
            told = f"the analyzer at {self._address} did not look into run {run.id}"
            raise refused(error, told) from error
        return tuple(
            Found(f.name, f.statement, tuple((c.step, c.quote) for c in f.citations))
            for f in answer.integrity.findings
        )
