"""Which sandbox a runner uses."""

from collections.abc import Callable, Mapping

from firetrial_runner.sandbox.port import Sandbox, SandboxError

ORDER = ("bubblewrap", "docker")


async def choose(makers: Mapping[str, Callable[[], Sandbox]] | None = None) -> Sandbox:
    """The first sandbox that works here: bubblewrap, else Docker; never the bare host.

    Raises SandboxError naming, for each, why it does not work and the cure.
    """
    refused: list[SandboxError] = []
    for make in (makers or _makers()).values():
        try:
            sandbox = make()
            await sandbox.probe()
        except SandboxError as e:
            refused.append(e)
        else:
            return sandbox
    raise SandboxError("no sandbox works on this machine", "; ".join(map(str, refused)), "Cure one of these")


async def named(name: str) -> Sandbox:
    """The sandbox asked for by name, or the first that works for "auto". Raises SandboxError."""
    makers = _makers()
    if name == "auto":
        return await choose(makers)
    if name not in makers:
        raise SandboxError(name, "no such sandbox", f"Name one of auto, {', '.join(makers)}")
    return await choose({name: makers[name]})


def _makers() -> dict[str, Callable[[], Sandbox]]:
    from firetrial_runner.sandbox.bwrap import BwrapSandbox  # noqa: PLC0415 -- each brings its own imports
    from firetrial_runner.sandbox.docker import DockerSandbox  # noqa: PLC0415 -- each brings its own imports

    return {"bubblewrap": BwrapSandbox.create, "docker": DockerSandbox.from_env}
