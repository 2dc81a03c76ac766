"""Manifests against the schemas of who reads them: Kubernetes, KEDA, the Prometheus operator."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]
from kubernetes_objects import Object, by_npm, named

VERSIONS = ("1.33", "1.37")
"""Of Kubernetes. 1.33 is the first whose user namespaces need no feature gate."""
_OTHERS = {
    "keda.sh/v1alpha1": "@kubernetes-models/keda/keda.sh/v1alpha1",
    "monitoring.coreos.com/v1": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1",
}
"""API group → where npm's package has its types, which were made from the definitions of its owner."""
_CHECK = """
import { readFileSync } from "node:fs";
for (const [name, path, kind, object] of JSON.parse(readFileSync(0, "utf8"))) {
  const { [kind]: Kind } = await import(path);
  try { new Kind(object).validate(); } catch (error) { console.log(`${name}: ${error.message}`); }
}
"""


def faults(objects: list[Object], versions: tuple[str, ...] = VERSIONS) -> Iterator[str]:
    """What an API server of each version would refuse, or drop without a word."""
    for one in objects:
        if one["apiVersion"] in _OTHERS:
            continue
        for version in versions:
            try:
                kubernetes_validate.validate(one, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{named(one)} ({version}): {'.'.join(map(str, error.path))}: {error.message[:200]}"


def custom(objects: list[Object]) -> Iterator[str]:
    """The same of what is not Kubernetes' own. Needs npm: values by their schemas, fields by their types."""
    told = [one for one in objects if one["apiVersion"] in _OTHERS]
    place = by_npm("kubernetes-schemas")
    asked = [[named(one), _OTHERS[one["apiVersion"]], one["kind"], one] for one in told]
    argv = ["node", "--input-type=module", "--eval", _CHECK]
    said = subprocess.run(
        argv, input=json.dumps(asked), cwd=place, capture_output=True, text=True, check=True
    )
    yield from said.stdout.splitlines()
    yield from _fields(told, place)


def _fields(told: list[Object], place: Path) -> Iterator[str]:
    """A type checker refuses a field of a literal that its type does not know."""
    lines, names = [], {}
    for number, one in enumerate(told):
        lines.append(f'import type {{ I{one["kind"]} as T{number} }} from "{_OTHERS[one["apiVersion"]]}";')
        lines.append(f"export const o{number}: T{number} = {json.dumps(one)};")
        names[2 * number + 2] = named(one)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        (Path(folder) / "told.ts").write_text("\n".join(lines))
        argv = ["node_modules/.bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext"]
        argv.append(f"{folder}/told.ts")
        said = subprocess.run(argv, cwd=place, capture_output=True, text=True, check=False)
    for line in said.stdout.splitlines():
        at, _, fault = line.partition("): ")
        row = at.rpartition("(")[2].partition(",")[0]
        if row.isdigit():
            yield f"{names[int(row)]}: {fault}"
    if said.returncode and not said.stdout:
        raise RuntimeError(said.stderr)
