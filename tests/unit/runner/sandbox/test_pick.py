"""Which sandbox is taken."""

from __future__ import annotations

import pytest

from firetrial_runner.sandbox.fake import FakeSandbox
from firetrial_runner.sandbox.host import HostSandbox
from firetrial_runner.sandbox.pick import choose, named
from firetrial_runner.sandbox.port import Sandbox, SandboxError


async def by_name(name: str, *, unsafe_host: bool = False) -> Sandbox:
    return await named(
        name, docker_host="unix:///nowhere/docker.sock", docker_image="none", unsafe_host=unsafe_host
    )


class Refusing(FakeSandbox):
    def __init__(self, name: str) -> None:
        super().__init__({})
        self._name = name

    async def probe(self) -> None:
        raise SandboxError(self._name, "it does not work", f"Mend {self._name}")


def absent() -> Sandbox:
    raise SandboxError("absent", "no program was found", "Install it")


async def test_the_first_that_works() -> None:
    good, better = FakeSandbox({}), FakeSandbox({})
    assert (
        await choose({"a": absent, "b": lambda: Refusing("b"), "c": lambda: good, "d": lambda: better})
        is good
    )


async def test_where_none_works_each_says_why_and_what_to_do() -> None:
    with pytest.raises(SandboxError) as caught:
        await choose({"a": absent, "b": lambda: Refusing("b")})
    for told in ("no program was found", "Install it", "it does not work", "Mend b"):
        assert told in str(caught.value)


async def test_one_that_was_named_speaks_for_itself() -> None:
    with pytest.raises(SandboxError) as caught:
        await by_name("docker")
    assert (caught.value.sandbox, "DOCKER_HOST" in caught.value.cure) == ("docker", True)
    with pytest.raises(SandboxError):
        await by_name("vm")


async def test_the_bare_host_is_never_taken_by_accident() -> None:
    with pytest.raises(SandboxError):
        await by_name("host")
    with pytest.raises(ValueError, match="unsafe_host"):
        HostSandbox(unsafe_host=False)
    assert (await by_name("host", unsafe_host=True)).name == "host"
