"""The filter, run by an interpreter of classic BPF as linux/filter.h describes it."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.sandbox import seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
X86, ARM = 0xC000003E, 0xC00000B7


def decide(machine: str, number: int, *args: int, arch: int | None = None, watched: bool = False) -> int:
    """What the filter answers to a call."""
    code = seccomp.program(machine, watched=watched)
    assert code is not None
    words = [number, arch or (X86 if machine == "x86_64" else ARM), 0, 0]
    for argument in (*args, 0, 0, 0, 0, 0, 0)[:6]:
        words += [argument & 0xFFFFFFFF, argument >> 32]
    instructions = list(struct.iter_unpack("HBBI", code))
    at, value = 0, 0
    while True:
        operation, if_true, if_false, operand = instructions[at]
        at += 1
        if operation == 0x06:
            return int(operand)
        if operation == 0x20:
            value = words[operand // 4]
            continue
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[operation]
        at += if_true if holds else if_false


@pytest.mark.parametrize(
    ("machine", "mount", "unshare", "read", "clone", "clone3", "socket", "ioctl"),
    [("x86_64", 165, 272, 0, 56, 435, 41, 16), ("aarch64", 40, 97, 63, 220, 435, 198, 29)],
)
def test_what_is_refused(
    machine: str, *, mount: int, unshare: int, read: int, clone: int, clone3: int, socket: int, ioctl: int
) -> None:
    assert decide(machine, mount) == decide(machine, unshare) == EPERM
    assert decide(machine, read) == ALLOW
    assert decide(machine, clone3) == ENOSYS
    thread = 0x003D0F00  # the flags with which libc starts one
    assert decide(machine, clone, thread) == decide(machine, clone, 17) == ALLOW
    for namespace in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert decide(machine, clone, 17 | namespace) == EPERM
    assert [decide(machine, socket, family) for family in (1, 2, 10, 16)] == [ALLOW] * 4
    assert [decide(machine, socket, family) for family in (38, 40)] == [EPERM] * 2
    assert [decide(machine, ioctl, 0, request) for request in (0x5401, 0x5412, 0x541C)] == [
        ALLOW,
        EPERM,
        EPERM,
    ]


def test_high_halves_of_arguments_do_not_hide_low_ones() -> None:
    assert decide("x86_64", 41, 40 | 1 << 32) == EPERM


def test_other_instruction_sets() -> None:
    assert decide("x86_64", 1, arch=0x40000003) == KILL
    assert decide("x86_64", 165 | 0x40000000) == ENOSYS
    assert seccomp.program("sparc64") is None


@pytest.mark.parametrize(("machine", "numbers"), [("x86_64", (319, 447, 29)), ("aarch64", (279, 447, 194))])
def test_memory_that_a_watcher_does_not_see_is_absent(machine: str, numbers: tuple[int, ...]) -> None:
    assert [decide(machine, number) for number in numbers] == [ALLOW] * 3
    assert [decide(machine, number, watched=True) for number in numbers] == [ENOSYS] * 3
    assert decide(machine, 101 if machine == "x86_64" else 117, watched=True) == EPERM


@given(st.integers(0, 600))
def test_nothing_else_is_refused(number: int) -> None:
    column = {names[0] for names in seccomp._DENIED.values()}
    wanted = EPERM if number in column else ENOSYS if number == 435 else ALLOW
    assert decide("x86_64", number) == wanted
