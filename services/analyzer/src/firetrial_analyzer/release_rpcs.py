"""The analyzer's RPCs about releases."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial_analyzer.release_wire import release_to_wire, wanted_to_domain
from firetrial_analyzer.releases import Releases


class ReleaseRpcs(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    """The part of firetrial.analyzer.v1.AnalyzerService that freezes benchmarks."""

    _releases: Releases

    async def CreateRelease(self, request: pb.CreateReleaseRequest, context: Any) -> pb.CreateReleaseResponse:
        release = await self._releases.create(wanted_to_domain(request))
        return pb.CreateReleaseResponse(release=release_to_wire(release))

    async def GetRelease(self, request: pb.GetReleaseRequest, context: Any) -> pb.GetReleaseResponse:
        return pb.GetReleaseResponse(release=release_to_wire(await self._releases.records.get(request.name)))

    async def ListReleases(self, request: pb.ListReleasesRequest, context: Any) -> pb.ListReleasesResponse:
        page, token = await self._releases.records.page(request.page_size, request.page_token)
        return pb.ListReleasesResponse(releases=map(release_to_wire, page), next_page_token=token)
