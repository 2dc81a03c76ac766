"""Findings, asked of the analyzer service over its contract."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import grpc

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial.runner.v1 import run_pb2
from firetrial_judge.kinds.findings import Found
from firetrial_kit.errors import FiretrialError, Reason

TIMEOUT = 600.0  # seconds; a trajectory of a gigabyte takes a minute
_LATER = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL"}


class AnalyzerByAddress:
    """The analyzer service at `host:port`."""

    def __init__(self, address: str, channel: grpc.aio.Channel) -> None:
        self._address = address
        self._analyzer = analyzer_service_pb2_grpc.AnalyzerServiceStub(channel)

    async def check(self, run: run_pb2.Run) -> tuple[Found, ...]:
        try:
            answer = await self._analyzer.CheckIntegrity(
                pb.CheckIntegrityRequest(run=run), timeout=TIMEOUT, wait_for_ready=False
            )
        except grpc.aio.AioRpcError as error:
            later = error.code().name in _LATER
            raise FiretrialError(
                Reason.UNAVAILABLE if later else Reason.PRECONDITION,
                f"the analyzer at {self._address} did not look into run {run.id}: {error.details()}",
            ) from error
        return tuple(
            Found(f.name, f.statement, tuple((c.step, c.quote) for c in f.citations))
            for f in answer.integrity.findings
        )


async def analyzer_by_address(
    address: str, tls: tuple[Path, Path, Path] | None, stack: AsyncExitStack
) -> AnalyzerByAddress:
    """The analyzer at an address; `tls` is the authority, and this service's certificate and key, in PEM."""
    if tls is None:
        channel = grpc.aio.insecure_channel(address)
    else:
        ca, cert, key = (path.read_bytes() for path in tls)
        channel = grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(ca, key, cert))
    return AnalyzerByAddress(address, await stack.enter_async_context(channel))
