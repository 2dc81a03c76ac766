"""A small seccomp filter: system calls that no agent needs and that have opened sandboxes before.

A deny-list in classic BPF, assembled here because bubblewrap brings no filter and loads one as raw
`struct sock_filter` records (linux/filter.h). Refused calls answer EPERM, so that programs see a refusal
and not a crash; clone3 answers ENOSYS, since its flags lie in memory that a filter cannot read, and libc
then falls back to clone. Numbers are from the kernel's unistd tables.
"""

import errno
import json
import platform
import struct

_LOAD, _JEQ, _JSET, _JGE, _RET = 0x20, 0x15, 0x45, 0x35, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, …, BPF_RET|K
_NR, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24  # offsets in struct seccomp_data; the low word of an argument
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

_CLONE_NEW = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
_X32 = 0x40000000  # x86-64 calls with this bit belong to the x32 ABI and would pass by the numbers below
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # push input into the terminal that the sandbox was started from
_AF_ALG, _AF_VSOCK = 38, 40  # kernel crypto; the hypervisor, which network namespaces do not cover

# (x86_64, aarch64); None where the machine lacks the call
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}

# Calls that give memory which no process has to map: a watcher of resident memory would not see it.
_UNSEEN: dict[str, tuple[int, int]] = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
}

# per machine: AUDIT_ARCH, column above, clone, clone3, socket, ioctl
_MACHINES = {
    "x86_64": (0xC000003E, 0, 56, 435, 41, 16),
    "aarch64": (0xC00000B7, 1, 220, 435, 198, 29),
}


def program(machine: str | None = None, *, watched: bool = False) -> bytes | None:
    """The filter for a machine (default: this one), or None where the numbers are not known.

    `watched`: a watcher holds memory to its limit, so that calls for memory that it does not see are absent.
    """
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    arch, column, clone, clone3, socket, ioctl = known
    refuse, absent = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    code = [
        _op(_LOAD, _ARCH),
        _op(_JEQ, arch, 1, 0),
        _op(_RET, _KILL),
        _op(_LOAD, _NR),
        *([_op(_JGE, _X32, 0, 1), _op(_RET, absent)] if _has_x32(arch) else []),
        *_if_number(clone3, _op(_RET, absent)),
        *_if_number(clone, _op(_LOAD, _ARG0), _op(_JSET, _CLONE_NEW, 0, 1), _op(_RET, refuse)),
        *_if_number(socket, _op(_LOAD, _ARG0), *_any_of((_AF_ALG, _AF_VSOCK), refuse)),
        *_if_number(ioctl, _op(_LOAD, _ARG1), *_any_of((_TIOCSTI, _TIOCLINUX), refuse)),
    ]
    if watched:
        code += [op for numbers in _UNSEEN.values() for op in _any_of((numbers[column],), absent)]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            code += [_op(_JEQ, number, 0, 1), _op(_RET, refuse)]
    return b"".join([*code, _op(_RET, _ALLOW)])


def docker_profile(*, watched: bool = False) -> str:
    """The same rules as Docker's JSON, which names calls and knows their numbers."""
    absent = ["clone3", *(sorted(_UNSEEN) if watched else ())]
    refuse = {"action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
    bits = [1 << bit for bit in range(32) if _CLONE_NEW >> bit & 1]
    rules: list[dict[str, object]] = [
        {"names": sorted(_DENIED), **refuse},
        {"names": absent, "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
    ]
    for call, index, operator, values in (
        ("clone", 0, "SCMP_CMP_MASKED_EQ", bits),
        ("socket", 0, "SCMP_CMP_EQ", [_AF_ALG, _AF_VSOCK]),
        ("ioctl", 1, "SCMP_CMP_EQ", [_TIOCSTI, _TIOCLINUX]),
    ):
        for value in values:
            argument = {"index": index, "value": value, "valueTwo": value, "op": operator}
            rules.append({"names": [call], "args": [argument], **refuse})
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules})


def _has_x32(arch: int) -> bool:
    return arch == _MACHINES["x86_64"][0]


def _if_number(number: int, *then: bytes) -> list[bytes]:
    """When the call's number is this one: do `then`, and allow what it did not refuse."""
    return [_op(_JEQ, number, 0, len(then) + 1), *then, _op(_RET, _ALLOW)]


def _any_of(values: tuple[int, ...], action: int) -> list[bytes]:
    return [op for value in values for op in (_op(_JEQ, value, 0, 1), _op(_RET, action))]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
