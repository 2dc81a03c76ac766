"""An agent program, as far as its runs have to know of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from firetrial_runner.gateway.upstream import Dialect
from firetrial_runner.streams import StreamReader

PLACE = "/opt"
"""An installed program is found at PLACE/<name>, and what it starts with in PLACE/<name>/bin."""
_TOLD = re.compile(r"([a-z0-9][a-z0-9-]{0,31})(?:@([A-Za-z0-9][A-Za-z0-9._+-]{0,63}))?")


@dataclass(frozen=True, slots=True)
class Package:
    """A package of npm's or PyPI's, pinned with all that it needs by the lock file that ships here.

    links: what is to be found in bin/, as the one path below the installed tree that matches a pattern.
    by: what installs it. What pip does is bound to the Python that it was installed with, and so to an image.
    """

    name: str
    version: str
    links: Mapping[str, str]
    by: Literal["npm", "pip"] = "npm"


@dataclass(frozen=True, slots=True)
class Program:
    """`dialect` is how it speaks to models, where it needs one; `package` is what is installed for it.

    Without a package it is in the agent's own bundle or image, and has no version here.
    """

    name: str
    reader: Callable[[], StreamReader]
    dialect: Dialect | None = None
    package: Package | None = None

    @property
    def told(self) -> str:
        """As an agent names it: name@version, or the name alone."""
        return f"{self.name}@{self.package.version}" if self.package else self.name


def split(told: str) -> tuple[str, str]:
    """(name, version) of what an agent names; the version may be "". ("", "") where it is no such name."""
    match = _TOLD.fullmatch(told)
    return (match[1], match[2] or "") if match else ("", "")
