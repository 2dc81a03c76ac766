"""The instructions to models, as they ship with the package. A version that was shipped is never changed."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

CURRENT = "v1"


@dataclass(frozen=True, slots=True)
class Prompts:
    """All instructions of one version, with places for what differs between requests."""

    name: str
    findings: str
    verdicts: str

    @property
    def version(self) -> str:
        """Ends in a hash: an edited prompt is another."""
        return f"attribution-{self.name}-{sha256((self.findings + self.verdicts).encode()).hexdigest()[:8]}"


def load_prompts(name: str = CURRENT) -> Prompts:
    """Read the instructions of a version."""
    folder = files("firetrial_analyzer") / "data" / "prompts"
    texts = ((folder / f"{task}.{name}.txt").read_text("utf-8") for task in ("findings", "verdicts"))
    return Prompts(name, *texts)
