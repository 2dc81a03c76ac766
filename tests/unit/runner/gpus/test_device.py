"""Which GPUs a run is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.gpus.device import GIB, Demand, Gpu, choose, listed, visible

SMALL = Gpu("GPU-small", 0, "NVIDIA L4", 22 * GIB + GIB // 2)
LARGE = Gpu("GPU-large", 1, "NVIDIA H200", 140 * GIB)
OTHER = Gpu("GPU-other", 2, "NVIDIA H200", 140 * GIB)
SLICE = Gpu("MIG-one", 3, "NVIDIA H200 MIG 1g.18gb", 16 * GIB, is_slice=True)

memories = st.integers(1, 200).map(lambda gib: gib * GIB)
gpus = st.builds(Gpu, st.uuids().map(str), st.integers(0, 15), st.just("A"), memories, st.booleans())
machines = st.lists(gpus, max_size=12, unique_by=lambda gpu: gpu.uuid)
demands = st.builds(Demand, st.integers(1, 6), st.just(0) | memories)


@given(machines, demands, st.randoms())
def test_the_smallest_that_will_do(machine: list[Gpu], demand: Demand, random: object) -> None:
    chosen = choose(demand, machine)
    enough = [
        gpu
        for gpu in machine
        if gpu.memory_bytes >= demand.memory_bytes and not (gpu.is_slice and demand.count > 1)
    ]
    if chosen is None:
        assert len(enough) < demand.count
        return
    assert len(set(chosen)) == demand.count
    assert set(chosen) <= set(enough)
    left = sorted(gpu.memory_bytes for gpu in enough if gpu not in chosen)
    assert not left or max(gpu.memory_bytes for gpu in chosen) <= left[0]
    random.shuffle(machine)  # type: ignore[attr-defined]
    assert choose(demand, machine) == chosen


def test_a_slice_is_for_one_that_asks_for_one() -> None:
    assert choose(Demand(1), [LARGE, SLICE]) == (SLICE,)
    assert choose(Demand(2), [LARGE, SLICE]) is None
    assert choose(Demand(2, 100 * GIB), [SMALL, OTHER, SLICE, LARGE]) == (LARGE, OTHER)


@pytest.mark.parametrize(
    ("wanted", "seen"),
    [
        (None, [SMALL, LARGE, OTHER, SLICE]),
        ("all", [SMALL, LARGE, OTHER, SLICE]),
        ("none", []),
        ("", []),
        ("-1", []),
        ("0, 3", [SMALL, SLICE]),
        ("GPU-la,MIG-one", [LARGE, SLICE]),
        ("G", []),
    ],
)
def test_those_that_are_named(wanted: str | None, seen: list[Gpu]) -> None:
    assert list(visible([SMALL, LARGE, OTHER, SLICE], wanted)) == seen


def test_in_words() -> None:
    assert listed([LARGE, SMALL, OTHER]) == "2 × NVIDIA H200 of 140 GiB, 1 × NVIDIA L4 of 22.5 GiB"
    assert listed([SLICE]) == "1 × NVIDIA H200 MIG 1g.18gb of 16 GiB (a slice)"
    assert listed([]) == "none"
    assert [Demand(1).told, Demand(2, 80 * GIB).told] == ["1 GPU", "2 GPUs of 80 GiB"]
    assert [Demand(2).gres(), Demand(1).gres("h200")] == ["gpu:2", "gpu:h200:1"]


def test_demands_that_make_no_sense() -> None:
    fields = [fault.field for fault in Demand(-1, -1).faults("limits")]
    assert fields == ["limits.gpus", "limits.gpu_memory_bytes"]
    assert [fault.field for fault in Demand(65).faults("limits")] == ["limits.gpus"]
    assert [fault.field for fault in Demand(0, GIB).faults("limits")] == ["limits.gpu_memory_bytes"]
    assert list(Demand().faults("limits")) == list(Demand(64, GIB).faults("limits")) == []
