"""What a sealed test is run over, laid out in the bucket `sealed`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from firetrial.artifact.v1 import artifact_pb2
from firetrial.parser.v1 import repository_pb2
from firetrial_judge.archive import Archive
from firetrial_judge.kinds.layers import Layer, merge
from firetrial_judge.kinds.lent import BUCKET
from firetrial_judge.kinds.scratch import scratch
from firetrial_kit.objects import ObjectRef, Objects, verified
from firetrial_kit.references import ref_to_domain


def laid_out(run_id: str) -> tuple[str, str]:
    """Where a run's test lies, by key: what its command runs over, and what its score is made over."""
    return f"{run_id}/files.tar", f"{run_id}/score.tar"


@dataclass(frozen=True, slots=True)
class LayingOut:
    """Tars of a task's pinned source with what belongs over it; what is sealed wins over all else."""

    archive: Archive
    objects: Objects

    async def targets(
        self, run_id: str, spec: repository_pb2.RepositorySpec, files: Mapping[str, str]
    ) -> dict[str, bytes]:
        """The texts that a step handed in, by path; `files` are their sha256."""
        wanted = {path: known for path, known in files.items() if path in spec.target_files}
        return {path: await self.archive.target(run_id, known) for path, known in wanted.items()}

    async def put(
        self,
        run_id: str,
        spec: repository_pb2.RepositorySpec,
        test: repository_pb2.SealedTest,
        targets: Mapping[str, bytes],
    ) -> tuple[ObjectRef, ObjectRef | None]:
        """What the test's command runs over, and what its score is made over: without a file of the agent's.

        They lie where `laid_out` says.

        Raises PRECONDITION for parts of the task that are no archives.
        """
        written = [test.results_file, *test.outputs]
        first, second = laid_out(run_id)
        with scratch() as folder:
            source = await self._layers(spec.source, folder / "source.tar")
            sealed = await self._layers(test.files, folder / "sealed.tar")
            layers = [*source, Layer(files=targets), *sealed]
            files = await self._put(layers, folder / "files", first, written)
            if not test.score_command:
                return files, None
            apart = await self._layers(test.score_files, folder / "apart.tar")
            layers = [*source, *sealed, *apart]
            return files, await self._put(layers, folder / "score", second, written)

    async def _layers(self, ref: artifact_pb2.ArtifactRef, to: Path) -> list[Layer]:
        """The tar at a reference, fetched; nothing where it is empty."""
        if not ref.uri:
            return []
        told, found = ref_to_domain(ref), hashlib.sha256()
        with to.open("wb") as file:
            async for piece in self.objects.stream(told.uri):
                found.update(piece)
                await asyncio.to_thread(file.write, piece)
        verified(told.uri, b"", found.hexdigest(), told.sha256)
        return [Layer(to)]

    async def _put(self, layers: Sequence[Layer], to: Path, key: str, without: Sequence[str]) -> ObjectRef:
        await asyncio.to_thread(merge, layers, to, without)
        return await self.objects.put_file(BUCKET, key, to, "application/x-tar")
