"""The gateway's own file of settings, in TOML; docs/gateway.md shows one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from firetrial_kit.settings import SettingsError
from firetrial_runner.gateway.prices import Price
from firetrial_runner.gateway.upstream import Dialect, Feature, Upstream

_KEY = re.compile(r"[!#-\[\]-~]+")
"""Of an HTTP header, and the same in JSON: printable, without space, quote and backslash."""
_MODEL = re.compile(r"[^\s*]+\*?|\*")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PriceSetting(_Part):
    """USD per million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    cache_written: float | None = Field(default=None, ge=0)


class UpstreamSetting(_Part):
    """See `Upstream`. The key is in an environment variable or in a file; in neither where none is needed."""

    url: str
    dialect: Dialect
    models: tuple[str, ...] = Field(min_length=1)
    key_env: str = ""
    key_file: Path | None = None
    provider: str = ""
    allow: frozenset[Feature] = frozenset()
    at_once: int = Field(default=64, ge=1, le=1024)
    patience_s: float = Field(default=600, ge=0, le=86400)
    read_timeout_s: float = Field(default=600, gt=0, le=86400)
    limit_field: str = "max_completion_tokens"
    trace: bool = False


class GatewaySettings(_Part):
    """Upstreams by name, in the order in which a model is looked for; own prices by the model's name."""

    upstreams: dict[str, UpstreamSetting] = Field(min_length=1)
    prices: dict[str, PriceSetting] = Field(default_factory=dict)
    refuse_unpriced: bool = False

    @classmethod
    def load(cls, path: Path) -> GatewaySettings:
        """Raises SettingsError with everything that is wrong."""
        try:
            return cls.model_validate(tomllib.loads(path.read_text()))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError([f"{path}: {error}"]) from error
        except ValidationError as error:
            raise SettingsError(
                [f"{path}: {'.'.join(map(str, f['loc']))}: {f['msg']}" for f in error.errors()]
            ) from None

    def prices_by_model(self) -> dict[str, Price]:
        return {name: Price(**setting.model_dump()) for name, setting in self.prices.items()}

    def opened(self, environ: Mapping[str, str]) -> list[Upstream]:
        """The upstreams with their keys. Raises SettingsError with everything that is wrong."""
        keys = {name: _key(setting, environ) for name, setting in self.upstreams.items()}
        problems = [
            f"upstreams.{name}: {problem}"
            for name, setting in self.upstreams.items()
            for problem in _problems(setting, keys[name])
        ]
        if problems:
            raise SettingsError(problems)
        return [_upstream(name, setting, keys[name]) for name, setting in self.upstreams.items()]


def _upstream(name: str, setting: UpstreamSetting, key: str) -> Upstream:
    told: dict[str, Any] = {
        field: getattr(setting, field)
        for field in UpstreamSetting.model_fields
        if field not in {"key_env", "key_file"}
    }
    return Upstream(name=name, key=key, **told)


def _key(setting: UpstreamSetting, environ: Mapping[str, str]) -> str:
    """The key; "" where there is none to be had."""
    if setting.key_env:
        return environ.get(setting.key_env, "")
    if setting.key_file is None:
        return ""
    try:
        return setting.key_file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _problems(setting: UpstreamSetting, key: str) -> Iterator[str]:
    """Never with the key in it."""
    address = urlsplit(setting.url)
    if address.scheme not in {"http", "https"} or not address.hostname or address.query or "@" in setting.url:
        yield "url must be http(s)://host[:port]/v1, with no user, no password and no query"
    if setting.key_env and setting.key_file:
        yield "key_env and key_file: only one of them"
    if (setting.key_env or setting.key_file) and not key:
        yield f"no key in {setting.key_env or setting.key_file}"
    if key and not _KEY.fullmatch(key):
        yield "the key must be printable ASCII without spaces, quotes and backslashes"
    for model in setting.models:
        if not _MODEL.fullmatch(model):
            yield f"models: {model!r} must be a name, or the beginning of one followed by *"
