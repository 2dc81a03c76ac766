"""Entailment, asked of the judge service over its contract."""

from __future__ import annotations

from collections.abc import Sequence

import grpc

from firetrial.judge.v1 import entailment_pb2 as pb
from firetrial.judge.v1 import judge_service_pb2_grpc, judgement_pb2
from firetrial_kit.neighbours import refused, traced
from firetrial_parser.entailment import Ruled, Rulings, Verdict

TIMEOUT = 600.0  # seconds for one question; a model judge is asked several times


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
            answer = await self._judge.CheckEntailment(
                request, timeout=TIMEOUT, metadata=traced(), wait_for_ready=False
            )
        except grpc.aio.AioRpcError as error:
            raise refused(error, f"the judge at {self._address} did not rule") from error
        ruled = tuple(
            Ruled(e.hypothesis, e.claim, _verdict(e.verdict), e.evidence) for e in answer.entailments
        )
        return Rulings(ruled, answer.config_hash, answer.quality)


def _verdict(verdict: judgement_pb2.Verdict.ValueType) -> Verdict:
    name = judgement_pb2.Verdict.Name(verdict).removeprefix("VERDICT_")
    return Verdict(name) if name in Verdict.__members__ else Verdict.UNSCORED
