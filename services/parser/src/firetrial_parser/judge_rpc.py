"""Entailment, asked of the judge service over its contract."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import grpc

from firetrial.judge.v1 import entailment_pb2 as pb
from firetrial.judge.v1 import judge_service_pb2_grpc, judgement_pb2
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.entailment import Ruled, Rulings, Verdict

TIMEOUT = 600.0  # seconds for one question; a model judge is asked several times
_LATER = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL"}


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files: the authority that signed the judge's certificate, and this service's own certificate."""

    ca: Path
    cert: Path
    key: Path

    def credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(
            self.ca.read_bytes(), self.key.read_bytes(), self.cert.read_bytes()
        )


class JudgeByAddress:
    """The judge service at `host:port`. Premise and hypotheses are never logged."""

    def __init__(self, address: str, channel: grpc.aio.Channel) -> None:
        self._address = address
        self._judge = judge_service_pb2_grpc.JudgeServiceStub(channel)

    async def entail(
        self, premise: str, hypotheses: Sequence[str], *, atomic: bool = True, searching: bool = False
    ) -> Rulings:
        request = pb.CheckEntailmentRequest(
            premise=premise, hypotheses=hypotheses, atomic=atomic, searching=searching
        )
        try:
            answer = await self._judge.CheckEntailment(request, timeout=TIMEOUT, wait_for_ready=False)
        except grpc.aio.AioRpcError as error:
            raise self._refused(error) from error
        ruled = tuple(
            Ruled(e.hypothesis, e.claim, _verdict(e.verdict), e.evidence) for e in answer.entailments
        )
        return Rulings(ruled, answer.config_hash, answer.quality)

    def _refused(self, error: grpc.aio.AioRpcError) -> FiretrialError:
        later = error.code().name in _LATER
        return FiretrialError(
            Reason.UNAVAILABLE if later else Reason.PRECONDITION,
            f"the judge at {self._address} did not rule: {error.details()}",
        )


def _verdict(verdict: judgement_pb2.Verdict.ValueType) -> Verdict:
    name = judgement_pb2.Verdict.Name(verdict).removeprefix("VERDICT_")
    return Verdict(name) if name in Verdict.__members__ else Verdict.UNSCORED


async def judge_by_address(address: str, tls: Tls | None, stack: AsyncExitStack) -> JudgeByAddress:
    """The judge at an address; `stack` closes the connection."""
    if tls is None:
        channel = grpc.aio.insecure_channel(address)
    else:
        channel = grpc.aio.secure_channel(address, tls.credentials())
    return JudgeByAddress(address, await stack.enter_async_context(channel))
