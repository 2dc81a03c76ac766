"""The alerts for the Prometheus operator, from deploy/prometheus/rules.

python tools/kubernetes_alerts.py            writes them
python tools/kubernetes_alerts.py --check    exits 1 where they are not what the rules say
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
RULES = DEPLOY / "prometheus" / "rules"
MADE = DEPLOY / "kubernetes" / "components" / "monitoring" / "watched" / "rules.yaml"
_HEAD = "# Made by `make kubernetes-alerts` from deploy/prometheus/rules.\n"


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Texts of several lines as such, so that a change of a rule is a change of its lines here."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def rules() -> list[dict[str, Any]]:
    """A PrometheusRule for each file of rules."""
    return [
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {"name": path.stem.replace("_", "-")},
            "spec": yaml.safe_load(path.read_text()),
        }
        for path in sorted(RULES.glob("*.yml"))
    ]


def rendered() -> str:
    """The file, the same to the byte for the same rules."""
    told = yaml.dump_all(rules(), Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return f"{_HEAD}{told}"


def main(argv: list[str]) -> int:
    if argv == ["--check"]:
        if MADE.exists() and MADE.read_text() == rendered():
            return 0
        print(f"{MADE.relative_to(DEPLOY.parent)} is not what the rules say: make kubernetes-alerts")
        return 1
    MADE.write_text(rendered())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
