"""Write the dashboards: `python -m dashboards [--check] [--runbooks ADDRESS] [FOLDER]`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from dashboards import cost, experiment, fleet, judge, reliability
from grafana_foundation_sdk.cog.encoder import JSONEncoder

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "dashboards"
RUNBOOKS = "/public/runbook"
PAGES = (fleet.PAGE, experiment.PAGE, cost.PAGE, judge.PAGE, reliability.PAGE)


def rendered(runbooks: str = RUNBOOKS) -> dict[str, str]:
    """File name → JSON, the same to the byte for the same pages."""
    return {
        f"{page.name}.json": json.dumps(page.build(runbooks), cls=JSONEncoder, indent=2, sort_keys=True)
        + "\n"
        for page in PAGES
    }


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="dashboards", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where files differ")
    parser.add_argument("--runbooks", default=RUNBOOKS, help="where browsers find the runbook's pages")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    asked = parser.parse_args(argv)
    files = rendered(asked.runbooks)
    there = {path.name: path.read_text() for path in asked.folder.glob("*.json")}
    if asked.check:
        wrong = sorted(name for name in files.keys() | there if files.get(name) != there.get(name))
        if wrong:
            print(
                f"{', '.join(wrong)} differ from tools/dashboards: run make dashboards and commit",
                file=sys.stderr,
            )
        return 1 if wrong else 0
    for name in there.keys() - files:
        (asked.folder / name).unlink()
    for name, text in files.items():
        (asked.folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
