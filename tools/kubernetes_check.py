"""Render overlays and say what is wrong with them: `python tools/kubernetes_check.py [FOLDER…]`.

Without a folder: all of deploy/kubernetes/overlays. A copy of one is checked in the same way.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kubernetes_alerts
import kubernetes_rules
import kubernetes_schemas
import kubernetes_settings
from kubernetes_objects import FOLDER, OVERLAYS, Manifests, render, secrets


def main(argv: list[str]) -> int:
    made, wrong = secrets(), kubernetes_alerts.main(["--check"])
    for folder in map(Path, argv or [str(FOLDER / "overlays" / name) for name in OVERLAYS]):
        try:
            objects = render(folder)
        except subprocess.CalledProcessError as error:
            print(f"{folder}: {error.stderr}")
            wrong = 1
            continue
        manifests = Manifests(objects, made)
        found = [
            *kubernetes_rules.faults(manifests),
            *kubernetes_settings.faults(manifests),
            *kubernetes_schemas.faults(objects),
            *kubernetes_schemas.custom(objects),
        ]
        for fault in found:
            print(f"{folder.name}: {fault}")
        print(f"{folder.name}: {len(objects)} objects, {len(found)} faults")
        wrong = wrong or bool(found)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
