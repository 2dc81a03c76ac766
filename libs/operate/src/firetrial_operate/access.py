"""How an operator reaches a Firetrial: by the environment, or as `firetrial up` says on this machine."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client
from nats.js import JetStreamContext

from firetrial_kit import jetstream
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_kit.objects import Objects
from firetrial_kit.service import open_objects
from firetrial_kit.settings import CommonSettings, SettingsError
from firetrial_operate.progress import SILENT, Progress

_OBJECTS = "FIRETRIAL_OBJECTS_URL"
_NATS = "FIRETRIAL_NATS_URL"


@dataclass(frozen=True, slots=True)
class Access:
    """The broker and the objects, with every right; `where` tells them apart from another installation's.

    How far long work with them is goes to `progress`.
    """

    client: Client
    objects: Objects
    where: str
    progress: Progress = SILENT

    @property
    def js(self) -> JetStreamContext:
        return self.client.jetstream(timeout=10)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ`, with what it lacks from the `firetrial up` of this machine, where that runs.

    Raises PRECONDITION where neither says which installation is meant.
    """
    if environ.get(_NATS) and environ.get(_OBJECTS):
        return dict(environ)
    told = home(environ) / "run" / "operator.json"
    if environ.get(_NATS) or environ.get(_OBJECTS):
        # Half of one installation and half of another would mix two.
        lacking = _OBJECTS if environ.get(_NATS) else _NATS
        raise invalid("the environment", [Fault(lacking, "", "must be set beside the other")])
    try:
        found: dict[str, str] = json.loads(told.read_text())
    except (OSError, ValueError) as error:
        raise FiretrialError(
            Reason.PRECONDITION,
            f"which Firetrial? Set {_NATS} and {_OBJECTS}, or start one here with `firetrial up` "
            f"(there is no {told})",
        ) from error
    return {**environ, **found}


def home(environ: Mapping[str, str]) -> Path:
    """Where `firetrial up` keeps everything."""
    if named := environ.get("FIRETRIAL_HOME"):
        return Path(named)
    state = environ.get("XDG_STATE_HOME") or Path(environ.get("HOME", "/")) / ".local" / "state"
    return Path(state) / "firetrial"


def settings(environ: Mapping[str, str]) -> CommonSettings:
    """The settings of an operator. Raises INVALID naming each bad variable, and what `environment` raises."""
    told = environment(environ)
    try:
        return CommonSettings.from_env(told, "operator")
    except SettingsError as error:
        faults = [Fault("environment", problem, "must be set right") for problem in error.problems]
        raise FiretrialError(Reason.INVALID, str(error), faults=faults) from error


@asynccontextmanager
async def opened(environ: Mapping[str, str], progress: Progress = SILENT) -> AsyncIterator[Access]:
    """The installation that `environ` names. Raises UNAVAILABLE where its broker does not answer."""
    told = settings(environ)
    client = await jetstream.connected(told, "operator")
    try:
        where = f"{told.nats_url} {told.objects_url}"
        yield Access(client, open_objects(told, "operator"), where, progress)
    finally:
        await client.close()
