"""The RPC by which callers learn who they are; each server has it."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from firetrial.access.v1 import access_pb2, identity_service_pb2_grpc
from firetrial.access.v1 import identity_service_pb2 as pb
from firetrial_kit import auth
from firetrial_kit.auth import Gate
from firetrial_kit.tokens import Quotas


class IdentityServicer(identity_service_pb2_grpc.IdentityServiceServicer):
    """firetrial.access.v1.IdentityService."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def WhoAmI(self, request: pb.WhoAmIRequest, context: Any) -> pb.WhoAmIResponse:
        found = self._gate.known(tuple(context.invocation_metadata() or ()), auth.peer_of(context))
        told = pb.WhoAmIResponse(
            name=found.name,
            tenant=found.tenant,
            scopes=[access_pb2.Scope.Value(f"SCOPE_{scope.name}") for scope in sorted(found.scopes)],
            means=pb.Means.Value(f"MEANS_{found.means.name}"),
            quotas=quotas_to_wire(self._gate.quotas(found.tenant)),
            version=version("firetrial-kit"),
        )
        if found.expires is not None:
            told.expires_at.FromDatetime(found.expires)
        return told


def quotas_to_wire(quotas: Quotas) -> pb.Quotas:
    return pb.Quotas(
        runs_at_once=quotas.runs_at_once,
        runs_per_day=quotas.runs_per_day,
        gpus_at_once=quotas.gpus_at_once,
        usd_per_month=quotas.usd_per_month,
    )
