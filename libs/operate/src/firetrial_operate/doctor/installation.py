"""Which installation is looked at, and by whose credentials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from firetrial_kit.settings import CommonSettings, SettingsError
from firetrial_operate import access

SERVICES = ("parser", "runner", "judge", "analyzer")
OPERATOR = "operator"
_SECRET = ("_PASSWORD_FILE", "_KEY_FILE", "_TOKEN_FILE", "_TLS_KEY")
_CREDENTIALS = ("NATS_USER", "S3_ACCESS_KEY")


@dataclass(frozen=True, slots=True)
class Who:
    """A user of the broker and the store, with its settings."""

    name: str
    settings: CommonSettings = field(repr=False)

    @property
    def variables(self) -> str:
        """How its own variables begin."""
        return f"FIRETRIAL_{self.name.upper()}_"

    @property
    def is_operator(self) -> bool:
        return self.name == OPERATOR


@dataclass(frozen=True, slots=True)
class Installation:
    """`who` are those whose credentials there are, the operator first. `problems` are bad settings by user.

    `none` says why there is no installation to look at.
    """

    who: tuple[Who, ...] = ()
    problems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    endpoints: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    none: str = ""

    @property
    def first(self) -> Who:
        """By whose credentials all is looked at that is not one user's own."""
        return self.who[0]


def find(environ: Mapping[str, str], services: tuple[str, ...] = ()) -> Installation:
    """By the environment, or the `firetrial up` of this machine: the operator, and each service that the
    environment knows credentials of; with `services` those alone. Raises FiretrialError for half of one.
    """
    named = environ.get("FIRETRIAL_NATS_URL") or environ.get("FIRETRIAL_OBJECTS_URL")
    if not named and not (access.home(environ) / "run" / "operator.json").exists():
        return Installation(environ=environ, endpoints=endpoints(environ), none=_NONE)
    told = access.environment(environ)
    users, problems = [], {}
    for name in services or (OPERATOR, *(name for name in SERVICES if _known(told, name))):
        try:
            users.append(Who(name, CommonSettings.from_env(told, name)))
        except SettingsError as error:
            problems[name] = tuple(error.problems)
    return Installation(tuple(users), problems, endpoints(told), told)


_NONE = "no installation is configured here: FIRETRIAL_NATS_URL and FIRETRIAL_OBJECTS_URL name one"


def _known(environ: Mapping[str, str], service: str) -> bool:
    return any(environ.get(f"FIRETRIAL_{service.upper()}_{name}") for name in _CREDENTIALS)


def endpoints(environ: Mapping[str, str]) -> dict[str, str]:
    """host:port by service, by FIRETRIAL_ENDPOINT or the `firetrial up` here."""
    told = environ.get("FIRETRIAL_ENDPOINT", "")
    if not told:
        try:
            known = json.loads((access.home(environ) / "endpoints.json").read_text())
            return {name: str(known[name]) for name in SERVICES if name in known}
        except (OSError, ValueError, TypeError):
            return {}
    if "=" not in told:
        return dict.fromkeys(SERVICES, told.strip())
    parts = (part.partition("=") for part in told.split(","))
    return {name.strip(): address.strip() for name, _, address in parts if name.strip() in SERVICES}


def secret_files(environ: Mapping[str, str]) -> dict[str, Path]:
    """The files that hold what is secret, by the variables that name them."""
    files = {
        name: Path(path)
        for name, path in environ.items()
        if name.startswith("FIRETRIAL_") and name.endswith(_SECRET)
    }
    return {name: path for name, path in files.items() if path.is_file()}


def shared(who: tuple[Who, ...]) -> list[str]:
    """What two services are known by alike, so that one has the rights of the other."""
    seen: dict[tuple[str, str], str] = {}
    found = []
    for one in who:
        for kind in ("nats_user", "s3_access_key"):
            value = getattr(one.settings, kind)
            if value and (other := seen.setdefault((kind, value), one.name)) != one.name:
                found.append(f"{other} and {one.name} have one {kind}")
    return found
