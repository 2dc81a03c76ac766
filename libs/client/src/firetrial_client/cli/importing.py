"""What `firetrial import …` of a plugin needs to store the tasks it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from firetrial_client.errors import FiretrialError
from firetrial_client.sync import Firetrial

Submit = Callable[..., tuple[str, str]]
# An import works without a server, so it does not wait long to learn whether there is one.
_PROBE = 2.0


def submitter(endpoint: str | None) -> Submit | None:
    """A function that stores one task and gives its id and version; None where no parser service answers."""
    try:
        with Firetrial(endpoint) as client:
            if client.health(_PROBE)["parser"] != "serving":
                return None
    except FiretrialError:
        return None

    def submit_task(
        *,
        slug: str,
        question: str,
        instruction: str,
        ground_truth: str,
        broken: Sequence[str],
        origin: str,
        data: Path | None,
        difficulty: Mapping[str, int] | None = None,
        published: str = "",
    ) -> tuple[str, str]:
        with Firetrial(endpoint) as client:
            task = client.submit_task(
                slug,
                question=question,
                instruction=instruction,
                ground_truth=ground_truth,
                broken=broken,
                origin=origin,
                data=data,
                difficulty=difficulty,
                published=published,
            ).task
        return task.id, task.version

    return submit_task
