"""References to objects, as the store gives them and as contracts carry them."""

from __future__ import annotations

from firetrial.artifact.v1 import artifact_pb2
from firetrial_kit.objects import ObjectRef


def ref_to_wire(ref: ObjectRef) -> artifact_pb2.ArtifactRef:
    """The reference as events and resources carry it."""
    return artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size, media_type=ref.media_type)


def ref_to_domain(ref: artifact_pb2.ArtifactRef) -> ObjectRef:
    """The reference as the store takes it."""
    return ObjectRef(ref.uri, ref.sha256, ref.size, ref.media_type)
