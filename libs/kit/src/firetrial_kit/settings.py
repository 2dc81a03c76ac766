"""Settings from the environment, checked in one go.

A service reads `FIRETRIAL_<SERVICE>_<FIELD>` and, where that is unset, `FIRETRIAL_<FIELD>`,
so that four services in one process can share most settings and differ in their credentials. A secret can lie
in a file instead, which `<its variable>_FILE` names: so it is in no environment, and in no list of processes.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from firetrial_kit.asking import Price

S = TypeVar("S", bound="Settings")


class SettingsError(Exception):
    """What is wrong with the environment: one line for each bad variable."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("bad settings:\n" + "\n".join(f"  {problem}" for problem in problems))
        self.problems = problems


class PriceSetting(BaseModel):
    """USD per million tokens; without `cached`, cached tokens cost what others do."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)

    def price(self) -> Price:
        return Price(self.prompt, self.completion, self.prompt if self.cached is None else self.cached)


class Settings(BaseModel):
    """Base of all settings: immutable, and nothing unknown is let through."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def from_env(cls, environ: Mapping[str, str], service: str = "") -> Self:
        """Read the settings of `service` from `environ`. Raises SettingsError listing every bad variable."""
        prefixes = [f"FIRETRIAL_{service.upper()}_"] if service else []
        prefixes.append("FIRETRIAL_")
        names = {field: _name(environ, prefixes, field) for field in cls.model_fields}
        values = {field: environ[name] for field, name in names.items() if environ.get(name)}
        secrets = {field for field, info in cls.model_fields.items() if info.annotation is SecretStr}
        files = {field: environ.get(names[field] + _FILE) for field in secrets - values.keys()}
        told, problems = _read({names[field] + _FILE: path for field, path in files.items() if path})
        values |= {field: told[name] for field in files if (name := names[field] + _FILE) in told}
        try:
            found = cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(problems + [_explain(names, fault) for fault in error.errors()]) from None
        if problems:
            raise SettingsError(problems)
        return found


_FILE = "_FILE"


def _name(environ: Mapping[str, str], prefixes: list[str], field: str) -> str:
    candidates = [prefix + field.upper() for prefix in prefixes]
    told = (name for name in candidates if environ.get(name) or environ.get(name + _FILE))
    return next(told, candidates[-1])


def _read(files: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What the files hold, by the variables that name them, and what is wrong with the others."""
    told, problems = {}, []
    for name, path in files.items():
        try:
            told[name] = Path(path).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{name}: {error}")
    return told, problems


def _explain(names: Mapping[str, str], fault: Mapping[str, object]) -> str:
    location = fault["loc"]
    field = str(location[0]) if isinstance(location, tuple) and location else ""
    secret = any(word in field for word in ("secret", "password", "token"))
    value = "" if secret or not field else f" (found {str(fault['input'])[:80]!r})"
    return f"{names.get(field, 'settings')}: {fault['msg']}{value}"


def _address(value: str) -> str:
    host, separator, port = value.rpartition(":")
    if not separator or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError("must be host:port, for example 127.0.0.1:50051; port 0 takes a free one")
    return value


Address = Annotated[str, AfterValidator(_address)]


def is_loopback(address: str) -> bool:
    """Whether `host:port` can be reached from this machine only."""
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class BrokerSettings(Settings):
    """How the broker is reached."""

    nats_url: str = "nats://127.0.0.1:4222"
    nats_user: str = ""
    nats_password: SecretStr = SecretStr("")
    # By whose signature it is known (PEM). Unset: by the machine's authorities.
    nats_tls_ca: Path | None = None


class CommonSettings(BrokerSettings):
    """What each service needs, whatever it does."""

    # As for the broker.
    objects_tls_ca: Path | None = None
    # file:///absolute/path, http://host:port or https://host:port of an S3-compatible store
    objects_url: str = ""
    s3_access_key: str = ""
    s3_secret_key: SecretStr = SecretStr("")
    s3_region: str = "us-east-1"
    # Put before each of the four bucket names, so that installations can share a store.
    bucket_prefix: str = ""
    rpc_address: Address = "127.0.0.1:0"
    metrics_address: Address = "127.0.0.1:0"
    tls_cert: Path | None = None
    tls_key: Path | None = None
    # Clients must show a certificate signed by this authority.
    tls_client_ca: Path | None = None
    # Who may call, and what each tenant may use: docs/security.md. Unset: whoever reaches the address may.
    tokens_file: Path | None = None
    # What this service shows to another one that it asks.
    service_token: SecretStr = SecretStr("")
    # Written once the service answers: {"pid", "rpc", "metrics"}.
    ports_file: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    # Seconds without a sign of life after which a message is given to another.
    ack_wait: float = Field(default=30.0, ge=1, le=3600)
    # Deliveries after which a message is failed for good.
    max_deliver: int = Field(default=10, ge=1, le=1000)
    # Seconds that work in hand may take to end after SIGTERM.
    drain: float = Field(default=20.0, ge=0, le=86400)

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if not self.objects_url.startswith(("file:///", "http://", "https://")):
            raise ValueError(
                f"FIRETRIAL_OBJECTS_URL must be file:///path, http://host:port or https://host:port "
                f"(found {self.objects_url!r})"
            )
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("FIRETRIAL_TLS_CERT and FIRETRIAL_TLS_KEY go together: set both or neither")
        if not is_loopback(self.rpc_address) and not (
            self.tls_cert and (self.tls_client_ca or self.tokens_file)
        ):
            raise ValueError(
                f"FIRETRIAL_RPC_ADDRESS {self.rpc_address} can be reached from other machines: set "
                "FIRETRIAL_TLS_CERT, FIRETRIAL_TLS_KEY, and FIRETRIAL_TLS_CLIENT_CA or FIRETRIAL_TOKENS_FILE "
                "(tokens never travel in the clear), or listen on 127.0.0.1"
            )
        return self
