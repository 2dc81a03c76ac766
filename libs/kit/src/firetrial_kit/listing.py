"""Whether models can be reached and take a key: by asking for their list, which is free."""

from __future__ import annotations

import json
from collections.abc import Mapping

import urllib3

from firetrial_kit.model_settings import ModelSettings
from firetrial_kit.settings import SettingsError

Found = tuple[str, bool | None, str, str]
"""Name, whether it works (None: it does, and should be seen to), what was found, and what to do."""
_PATIENCE_S = 4.0
_ANTHROPIC = "2023-06-01"


def asked(name: str, url: str, dialect: str, key: str, variable: str) -> Found:
    """The endpoint at `url`, up to and with its version; `variable` is where its key is told."""
    http = urllib3.PoolManager(timeout=_PATIENCE_S, retries=False)
    try:
        answer = http.request(
            "GET", f"{url.rstrip('/')}/models", headers=_headers(dialect, key), redirect=False
        )
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return name, False, f"no answer from {url}: {type(error).__name__}", "start it, or mend its address"
    finally:
        http.clear()
    if answer.status in (401, 403):
        said = "refuses the key" if key else "wants a key"
        return name, False, f"{url} {said} ({answer.status})", f"set {variable} to a key that is valid there"
    if answer.status >= 500 or answer.status == 429:
        return name, False, f"{url} answers {answer.status}", "wait, or ask who runs it"
    if answer.status != 200:
        detail = f"{url} has no list of models ({answer.status}), so its key is not known to be taken"
        return name, None, detail, "run something small"
    return name, True, f"{url}, {_count(answer.data)}", ""


def _headers(dialect: str, key: str) -> dict[str, str]:
    if dialect == "anthropic":
        return {"anthropic-version": _ANTHROPIC, **({"x-api-key": key} if key else {})}
    return {"authorization": f"Bearer {key}"} if key else {}


def _count(data: bytes) -> str:
    try:
        return f"{len(json.loads(data)['data'])} models"
    except (ValueError, KeyError, TypeError):
        return "no list that can be read"


def checks(kind: type[ModelSettings], environ: Mapping[str, str]) -> list[Found]:
    """What `firetrial doctor` is told of a service that asks a model: its own settings, and the model."""
    service = kind.service.lower()
    try:
        settings = kind.from_env(environ, service)
    except SettingsError as error:
        return [(f"{service} settings", False, "; ".join(error.problems), "mend these variables")]
    name = f"{service} model"
    if not settings.model_url:
        return [(name, True, "none is named: it works without", "")]
    key, variable = settings.model_key.get_secret_value(), f"FIRETRIAL_{kind.service}_MODEL_KEY_FILE"
    return [asked(name, settings.model_url, settings.model_dialect, key, variable)]
