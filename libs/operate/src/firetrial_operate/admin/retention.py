"""Which experiments are old, and what becomes of each: one that fails keeps no other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_operate.admin.deleting import Deleting, Plan
from firetrial_operate.progress import Part

_FAILED = "failed"


async def old(
    deleting: Deleting, before: datetime, part: Part, *, keep_releases: bool
) -> tuple[dict[str, dict[str, Any]], list[Plan]]:
    """What is said of each experiment, and the plans for those that ended `before` then."""
    told: dict[str, dict[str, Any]] = {}
    plans = []
    for id_ in await deleting.experiments():
        said = told[id_] = {"experiment": id_, "done": "stays", "ended": "", "why": ""}
        try:
            looking = deleting.plan(id_, despite_release=not keep_releases, before=before)
            plan = await part.after(looking)
        except FiretrialError as error:
            said["done"] = "stays" if error.reason is Reason.PRECONDITION else _FAILED
            said["why"] = error.message
            continue
        said["ended"] = plan.ended.isoformat() if plan.ended else ""
        if plan.ended is None or plan.ended >= before:
            said["why"] = "is not so old"
            continue
        said["done"], said["why"] = "would be deleted", plan.short
        plans.append(plan)
    return told, plans


async def deleted(deleting: Deleting, plan: Plan) -> dict[str, Any]:
    """What became of one."""
    try:
        proof = await deleting.delete(plan)
    except FiretrialError as error:
        return {"done": _FAILED, "why": error.message}
    return {"done": "deleted", "proof": proof["sha256"]}


def check(told: Sequence[dict[str, Any]]) -> None:
    """Raises INTERNAL where some failed."""
    if failed := [one["experiment"] for one in told if one["done"] == _FAILED]:
        raise FiretrialError(
            Reason.INTERNAL,
            f"{len(failed)} of {len(told)} experiments failed: call it again, or "
            f"`firetrial admin delete experiment {failed[0]}`",
        )
