"""What an operator may remove of a judge, and what of its state is copied."""

from __future__ import annotations

from firetrial_judge.kinds.lent import KIND, Lent
from firetrial_judge.rebuild import STEWARD
from firetrial_kit.keeping import Installation
from unit.judge.world import World


async def test_copies_for_looks_that_no_judge_has_noted_are_unused() -> None:
    world = World()
    to = Installation(world.state, world.everything, world.bus, world.clock)
    lent = Lent(world.objects, world.state, world.clock, "me")
    await lent.put("look-1/files.tar", b"in use")
    await world.everything.put("sealed", "look-2/files.tar", b"of a judge whose state was lost", "")
    await world.everything.put("sealed", "r-1/files.tar", b"of a sealed test", "")
    assert await STEWARD.unused(to) == ["sealed/look-2/files.tar"]
    await lent.remove("look-1/files.tar")
    assert await STEWARD.unused(to) == ["sealed/look-2/files.tar"]


def test_what_is_noted_of_a_process_is_not_copied() -> None:
    assert not STEWARD.keeps(f"{KIND}.me", b"{}")
    assert STEWARD.keeps("judgement.j-1", b"{}")
