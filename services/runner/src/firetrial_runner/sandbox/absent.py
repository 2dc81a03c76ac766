"""What a runner has in place of a sandbox that takes no runs itself."""

from collections.abc import Collection, Mapping

from firetrial_runner.sandbox.port import Leftover, Process, SandboxError, SandboxSpec


class AbsentSandbox:
    """Holds no command and has left none behind."""

    @property
    def name(self) -> str:
        return "none"

    def enforcement(self) -> Mapping[str, str]:
        return {"isolation": "nothing runs here"}

    async def probe(self) -> None:
        """There is nothing to try."""

    async def start(self, spec: SandboxSpec) -> Process:
        """Raises SandboxError, always."""
        raise SandboxError(self.name, f"{spec.run_key} cannot run here", "Give this runner slots or tests")

    async def leftovers(self) -> list[Leftover]:
        return []

    async def reap(self, dead: Collection[str]) -> list[Leftover]:  # noqa: ARG002 -- the port's
        return []

    async def aclose(self) -> None:
        """Nothing is held."""
