"""The instructions to models, as they ship with the package."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

CURRENT = "v2"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One instruction, with the marker's place in it. `version` ends in a hash: an edited one is another."""

    version: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompts:
    """All instructions of one version."""

    name: str
    claims: Prompt
    verdicts: Prompt
    core_idea: Prompt

    @property
    def version(self) -> str:
        """Changes with each of them."""
        return f"{self.name}-{self.sha256[:8]}"

    @property
    def sha256(self) -> str:
        """Over the text of them all."""
        return sha256((self.claims.text + self.verdicts.text + self.core_idea.text).encode()).hexdigest()


def load_prompts(name: str = CURRENT) -> Prompts:
    """Read the instructions of a version."""
    return Prompts(name, _read("claims", name), _read("verdicts", name), _read("core_idea", name))


def _read(task: str, name: str) -> Prompt:
    text = (files("firetrial_judge") / "prompts" / f"{task}.{name}.txt").read_text("utf-8")
    return Prompt(f"{task}-{name}-{_hash(text)}", text)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]
