"""Draw the dashboards as they are now: `python -m dashboards.preview PROMETHEUS --out FOLDER`.

No Grafana does it, but Grafana's components do: npm fetches them once (600 MB) into ~/.cache/firetrial. Each
dashboard becomes a page and, by Chromium, a picture; what was empty or broken is told.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboards.__main__ import FOLDER
from dashboards.asking import Asking, Window

VIEWER = Path(__file__).with_name("viewer")
CACHE = Path("~/.cache/firetrial/dashboards-viewer").expanduser()
POINTS = 300
WIDTH = 24 * 74 + 16

_PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="viewer.css"></head>
<body style="background: #111217; color: #ccccdc; overflow: auto"><div id="root"></div>
<script>window.PAGE = {page};</script><script src="viewer.js"></script></body></html>
"""
# Grafana's packages as CommonJS: what they import in that way has no default export otherwise.
_BUNDLED = [
    *(
        f"--alias:@grafana/{name}=./node_modules/@grafana/{name}/dist/cjs/index.cjs"
        for name in ("data", "ui")
    ),
    *(f"--loader:.{ending}=dataurl" for ending in ("woff2", "woff", "ttf")),
    "--loader:.svg=text",
    "--define:global=window",
    '--define:process.env.NODE_ENV="production"',
]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A dashboard's picture; titles of its panels, and of those that showed nothing or an error."""

    picture: Path
    panels: tuple[str, ...]
    empty: tuple[str, ...]
    broken: tuple[str, ...]


def built() -> Path:
    """The folder with viewer.js and viewer.css, made where it is not there yet."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for path in VIEWER.iterdir():
        shutil.copy(path, CACHE)
    if not (CACHE / "node_modules" / "@grafana").is_dir():
        _run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps")
    _run(
        "npx",
        "esbuild",
        "app.jsx",
        "--bundle",
        "--minify",
        "--outfile=viewer.js",
        "--log-level=error",
        *_BUNDLED,
    )
    return CACHE


def _run(*argv: str) -> None:
    subprocess.run(argv, cwd=CACHE, check=True, stdout=subprocess.DEVNULL)


def draw(dashboard: dict[str, Any], asking: Asking, out: Path, viewer: Path) -> Drawn:
    """Write <uid>.html and <uid>.png under `out`."""
    out.mkdir(parents=True, exist_ok=True)
    for name in ("viewer.js", "viewer.css"):
        shutil.copy(viewer / name, out)
    filled = dashboard | {"panels": list(asking.answered(dashboard["panels"]))}
    told = {"dashboard": filled, "start": asking.window.start, "end": asking.window.end}
    page = out / f"{dashboard['uid']}.html"
    script = json.dumps(told).replace("</", "<\\/")
    page.write_text(_PAGE.format(title=dashboard["title"], page=script))
    height = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in dashboard["panels"]) * 38 + 16
    picture = page.with_suffix(".png")
    shown = _chromium(page, f"--screenshot={picture}", f"--window-size={WIDTH},{height}", "--dump-dom")
    if "data-drawn=" not in shown:
        raise RuntimeError(f"{page} was not drawn: {re.sub('<[^>]*>', ' ', shown)[-500:]}")
    return Drawn(picture, *_seen(shown))


def _chromium(page: Path, *options: str) -> str:
    argv = ["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]
    argv += [
        "--virtual-time-budget=15000",
        "--allow-file-access-from-files",
        *options,
        page.resolve().as_uri(),
    ]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=120).stdout


def _seen(shown: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Titles of all panels, of those without data, and of those that could not be drawn."""
    parts = re.split(r'data-panel="([^"]*)"', shown)[1:]
    panels = dict(zip(parts[::2], parts[1::2], strict=True))
    empty = tuple(title for title, text in panels.items() if text.startswith(' data-empty="true"'))
    return tuple(panels), empty, tuple(title for title, text in panels.items() if "data-broken" in text)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="dashboards.preview", description=__doc__)
    parser.add_argument("prometheus", help="its address, such as http://127.0.0.1:9090")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=360)
    parser.add_argument("--scrape", type=float, default=15, help="seconds between scrapes")
    asked = parser.parse_args(argv)
    end = time.time()
    seconds = asked.minutes * 60
    window = Window(end - seconds, end, max(asked.scrape, seconds / POINTS), asked.scrape)
    viewer, broken = built(), False
    for path in sorted(FOLDER.glob("*.json")):
        drawn = draw(json.loads(path.read_text()), Asking(asked.prometheus, window), asked.out, viewer)
        print(f"{drawn.picture}: {len(drawn.panels)} panels, empty: {', '.join(drawn.empty) or 'none'}")
        if drawn.broken:
            broken = True
            print(f"  not drawn: {', '.join(drawn.broken)}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
