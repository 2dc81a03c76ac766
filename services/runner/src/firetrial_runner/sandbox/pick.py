"""Which sandbox a runner uses."""

from collections.abc import Callable, Mapping

from firetrial_runner.sandbox.apptainer import ApptainerSandbox
from firetrial_runner.sandbox.bwrap import BwrapSandbox
from firetrial_runner.sandbox.host import HostSandbox
from firetrial_runner.sandbox.port import Sandbox, SandboxError

_OF_ITSELF = ("bubblewrap", "docker")
"""What is tried where none is named."""


async def choose(makers: Mapping[str, Callable[[], Sandbox]]) -> Sandbox:
    """The first sandbox that works here, in the order given.

    Raises SandboxError naming, for each, why it does not work and the cure.
    """
    refused: list[SandboxError] = []
    for make in makers.values():
        try:
            sandbox = make()
            await sandbox.probe()
        except SandboxError as e:
            refused.append(e)
        else:
            return sandbox
    if len(refused) == 1:
        raise refused[0]
    raise SandboxError("no sandbox works on this machine", "; ".join(map(str, refused)), "Cure one of these")


async def named(
    name: str, *, docker_host: str, docker_image: str, apptainer_image: str = "", unsafe_host: bool = False
) -> Sandbox:
    """The sandbox asked for by name. Raises SandboxError.

    "auto" is the first that works of bubblewrap and Docker, and never the bare host, which is to be named
    and allowed by `unsafe_host` too.
    """
    makers = _makers(docker_host, docker_image, apptainer_image)
    if name == "auto":
        return await choose({each: makers[each] for each in _OF_ITSELF})
    if name == "host" and unsafe_host:
        return HostSandbox(unsafe_host=True)
    if name not in makers:
        known = f"auto, {', '.join(makers)}, or host together with unsafe_host"
        raise SandboxError(name, "no such sandbox here", f"Name one of {known}")
    return await choose({name: makers[name]})


def _makers(docker_host: str, docker_image: str, apptainer_image: str) -> dict[str, Callable[[], Sandbox]]:
    def docker() -> Sandbox:
        from firetrial_runner.sandbox.docker import DockerSandbox  # noqa: PLC0415 -- slow to import, rarely used

        return DockerSandbox.connect(docker_host, docker_image)

    def apptainer() -> Sandbox:
        return ApptainerSandbox.create(apptainer_image)

    return {"bubblewrap": BwrapSandbox.create, "docker": docker, "apptainer": apptainer}
