"""Where agents run: one port, and the sandboxes that keep it."""

from firetrial_runner.sandbox.pick import named
from firetrial_runner.sandbox.port import (
    Chunk,
    Exit,
    Leftover,
    Limits,
    Process,
    Sandbox,
    SandboxError,
    SandboxSpec,
    Stream,
    Termination,
    Usage,
)

__all__ = [
    "Chunk",
    "Exit",
    "Leftover",
    "Limits",
    "Process",
    "Sandbox",
    "SandboxError",
    "SandboxSpec",
    "Stream",
    "Termination",
    "Usage",
    "named",
]
