"""A launcher for PSI/J by which a job's script becomes the program, rather than its parent."""

from __future__ import annotations

from psij import Job, Launcher


class ExecLauncher(Launcher):
    """Replaces the script's shell by the program.

    PSI/J's own launchers leave two shells above it, which die of the scheduler's SIGTERM at once; the
    scheduler then takes the job for over and kills the program before it could end in good order.
    """

    def get_launch_command(self, job: Job) -> list[str]:
        spec = job.spec
        assert spec is not None  # noqa: S101 -- PSI/J has checked the job
        return ["exec", str(spec.executable), *(spec.arguments or ())]

    def is_launcher_failure(self, output: str) -> bool:  # noqa: ARG002 -- nothing of it stays to fail
        """Never: there is no launcher any more once the program runs."""
        return False

    def get_launcher_failure_message(self, output: str) -> str:
        """What was written."""
        return output
