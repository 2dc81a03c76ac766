"""Firetrial's SDK: `AsyncFiretrial`, and `Firetrial` with the same methods for code without asyncio."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from firetrial_client.errors import Fault, FiretrialError, Reason

if TYPE_CHECKING:
    from firetrial.plan.v1.plan_pb2 import Plan
    from firetrial_client.aio import AsyncFiretrial
    from firetrial_client.plans import Spending, make_gate, make_judge, make_plan
    from firetrial_client.sync import Firetrial

__all__ = [
    "AsyncFiretrial",
    "Fault",
    "Firetrial",
    "FiretrialError",
    "Plan",
    "Reason",
    "Spending",
    "make_gate",
    "make_judge",
    "make_plan",
]
# Loaded when first used, so that `firetrial --help` does not wait for gRPC.
_LAZY = {
    "AsyncFiretrial": "firetrial_client.aio",
    "Firetrial": "firetrial_client.sync",
    "Plan": "firetrial.plan.v1.plan_pb2",
    "Spending": "firetrial_client.plans",
    "make_gate": "firetrial_client.plans",
    "make_judge": "firetrial_client.plans",
    "make_plan": "firetrial_client.plans",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
