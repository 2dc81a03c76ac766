"""The service is wired whole, and refuses settings that it cannot use."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
import structlog
from prometheus_client import CollectorRegistry

from firetrial_analyzer.main import build
from firetrial_kit.auth import open_gate
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.figures import Figures
from firetrial_kit.metrics import KitMetrics
from firetrial_kit.service import Parts
from firetrial_kit.settings import CommonSettings, SettingsError
from firetrial_kit.testing import InMemoryBus, InMemoryObjects, InMemoryState, ManualClock


async def no_broker() -> Figures:
    """There is none to ask for its figures."""
    raise FiretrialError(Reason.UNAVAILABLE, "the bus is in memory")


async def parts(stack: AsyncExitStack, **environ: str) -> Parts:
    return Parts(
        service="analyzer",
        environ=environ,
        settings=CommonSettings(objects_url="file:///nowhere"),
        bus=InMemoryBus(),
        state=InMemoryState(),
        objects=InMemoryObjects(),
        clock=ManualClock(),
        metrics=KitMetrics(CollectorRegistry()),
        gate=open_gate(None, ManualClock(), structlog.get_logger()),
        broker=no_broker,
        log=structlog.get_logger(),
        instance="test",
        stack=stack,
    )


async def test_the_service_takes_five_facts() -> None:
    async with AsyncExitStack() as stack:
        service = await build(await parts(stack, FIRETRIAL_ANALYZER_ANALYSES_AT_ONCE="7"))
    assert service.name == "analyzer"
    assert {consumer.name: consumer.subjects for consumer in service.consumers} == {
        "analyzer-run_finished": ("ft.evt.runner.v1.run_finished.*",),
        "analyzer-run_judged": ("ft.evt.judge.v1.run_judged.*",),
        "analyzer-run_judge_failed": ("ft.evt.judge.v1.run_judge_failed.*",),
        "analyzer-paper_parse_failed": ("ft.evt.parser.v1.paper_parse_failed.*",),
        "analyzer-experiment_failed": ("ft.evt.runner.v1.experiment_failed.*",),
    }
    assert {consumer.concurrency for consumer in service.consumers} == {7}


async def test_a_bad_setting_is_named() -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match="FIRETRIAL_ANALYZER_ANALYSES_AT_ONCE"):
            await build(await parts(stack, FIRETRIAL_ANALYZER_ANALYSES_AT_ONCE="none"))
