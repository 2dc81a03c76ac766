"""Whether what manifests tell our programs are settings that these know, and that they would start with."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from kubernetes_objects import Manifests, Pods
from pydantic import SecretStr

from firetrial_analyzer.config import AnalyzerSettings
from firetrial_judge.config import JudgeSettings
from firetrial_kit.settings import CommonSettings, Settings, SettingsError
from firetrial_parser.config import ParserSettings
from firetrial_runner.config import RunnerSettings
from firetrial_runner.gateway.settings import GatewaySettings

_OWN: Mapping[str, type[Settings]] = {
    "parser": ParserSettings,
    "runner": RunnerSettings,
    "judge": JudgeSettings,
    "analyzer": AnalyzerSettings,
}
_FOREIGN = ("NVIDIA_", "OTEL_")
"""What is not ours to read."""
_PATH = "/run/secrets/"


def faults(made: Manifests) -> Iterator[str]:
    """Variables that no setting is read from, and values that are refused."""
    for one in made.pods:
        for container in one.containers:
            service = container["image"].partition(":")[0].rpartition("/")[2].removeprefix("firetrial-")
            told = made.environment(one, container)
            if service not in _OWN or not told:
                continue
            kinds: list[type[Settings]] = [CommonSettings, _OWN[service]] if one.serves else [CommonSettings]
            where = f"{one} {container['name']}"
            for name in sorted(told.keys() - _known(kinds, service)):
                if not name.startswith(_FOREIGN):
                    yield f"{where}: {name} is no setting of {service}"
            shown = made.shown(one, container)
            for problem in (*_refused(told, shown, kinds, service), *_gateway(told, shown, one, made)):
                yield f"{where}: {problem}"


def _known(kinds: list[type[Settings]], service: str) -> set[str]:
    """Every variable from which a setting is read."""
    return {
        f"{prefix}{field.upper()}{end}"
        for kind in kinds
        for field, info in kind.model_fields.items()
        for prefix in ("FIRETRIAL_", f"FIRETRIAL_{service.upper()}_")
        for end in (("", "_FILE") if info.annotation is SecretStr else ("",))
    }


def _refused(
    told: Mapping[str, str], shown: frozenset[str], kinds: list[type[Settings]], service: str
) -> Iterator[str]:
    """What the program itself says of its environment, with the files that it is shown."""
    with tempfile.TemporaryDirectory() as root:
        for path in shown:
            file = Path(root + path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("shown")
        here = {name: root + value if value.startswith(_PATH) else value for name, value in told.items()}
        for kind in kinds:
            try:
                kind.from_env(here, service)
            except SettingsError as error:
                yield from error.problems


def _gateway(told: Mapping[str, str], shown: frozenset[str], one: Pods, made: Manifests) -> Iterator[str]:
    """What the model gateway says of its file, and the keys that this names."""
    path = Path(told.get("FIRETRIAL_RUNNER_GATEWAY", ""))
    maps = made.named("ConfigMap", one.namespace)
    names = [volume["configMap"]["name"] for volume in one.spec["volumes"] if "configMap" in volume]
    texts = [
        maps[name]["data"][path.name] for name in names if path.name in maps.get(name, {}).get("data", {})
    ]
    for text in texts:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / path.name
            file.write_text(text)
            try:
                upstreams = GatewaySettings.load(file).upstreams
            except SettingsError as error:
                yield from error.problems
                continue
        for name, upstream in upstreams.items():
            if upstream.key_file and str(upstream.key_file) not in shown:
                yield f"upstreams.{name}: key_file {upstream.key_file} is not shown"
