"""The SDK for code with asyncio."""

from __future__ import annotations

import asyncio

from grpc_health.v1 import health_pb2, health_pb2_grpc

from firetrial.access.v1.identity_service_pb2 import WhoAmIRequest, WhoAmIResponse
from firetrial.access.v1.identity_service_pb2_grpc import IdentityServiceStub
from firetrial_client.attributions import AttributionCalls
from firetrial_client.endpoints import SERVICES
from firetrial_client.errors import FiretrialError
from firetrial_client.papers import PaperCalls
from firetrial_client.proposals import ProposalCalls
from firetrial_client.releases import ReleaseCalls
from firetrial_client.reports import ReportCalls
from firetrial_client.runs import RunCalls
from firetrial_client.selection import SelectionCalls


class AsyncFiretrial(
    PaperCalls, SelectionCalls, ProposalCalls, RunCalls, ReleaseCalls, AttributionCalls, ReportCalls
):
    """One Firetrial: its four services as one object.

    async with AsyncFiretrial() as client:
        async for run in client.watch_runs(experiment_id): ...

    Every method raises FiretrialError: UNAVAILABLE where a service cannot be reached, DEADLINE where it does
    not answer in time, and what the method itself names.
    """

    async def health(self, timeout: float = 5.0) -> dict[str, str]:
        """For each service "serving", "not serving", or why it did not answer."""
        states = await asyncio.gather(*(self._health(service, timeout) for service in SERVICES))
        return dict(zip(SERVICES, states, strict=True))

    async def whoami(self) -> WhoAmIResponse:
        """Who the servers take the caller for: tenant, scopes, quotas. Raises UNAUTHENTICATED."""
        return await self._one(
            "runner", lambda: IdentityServiceStub(self._channels.of("runner")).WhoAmI, WhoAmIRequest()
        )

    async def _health(self, service: str, timeout: float) -> str:
        request = health_pb2.HealthCheckRequest(service=f"firetrial.{service}.v1.{service.title()}Service")
        try:
            answer = await self._one(
                service,
                lambda: health_pb2_grpc.HealthStub(self._channels.of(service)).Check,
                request,
                timeout,
            )
        except FiretrialError as error:
            return error.message
        return "serving" if answer.status == health_pb2.HealthCheckResponse.SERVING else "not serving"
