"""The consumers of a pool, whose names scalers know."""

from __future__ import annotations

import pytest

from firetrial_kit.events import WORK
from firetrial_runner import pools
from unit.runner.world import World


def test_what_scalers_count_is_what_a_runner_of_the_pool_takes_from(world: World) -> None:
    takes = [*world.handlers.consumers("gpu", 2), *world.sealed.consumers("gpu", 1)]
    assert {one.name: one.subjects for one in takes if one.stream == WORK} == {
        "runner-gpu": ("ft.work.run.gpu",),
        "runner-test-gpu": ("ft.work.test.gpu",),
    }


@pytest.mark.parametrize("argv", [[], ["default", ""], ["GPU"], ["a.b"], ["*"], ["x" * 33]])
def test_what_is_no_pool_is_refused(argv: list[str]) -> None:
    assert "usage: POOL…" in str(pools.main(argv))
