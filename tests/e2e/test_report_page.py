"""The report as a browser shows it: the tables and plots are there and the console is silent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from support.machine import Machine

pytestmark = [
    pytest.mark.needs("nats-server", "bwrap", "chromium", "chromedriver"),
    pytest.mark.timeout(240),
]
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update")  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's report, made by the command that a newcomer runs."""
    folder = tmp_path_factory.mktemp("demo")
    ended = Machine(folder / "home").run("demo", "--out", str(folder / "out"), seconds=200)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert str(folder / "out" / "report.html") in ended.stdout
    return folder / "out" / "report.html"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for flag in (*QUIET, f"--user-data-dir={tmp_path}/profile", "--window-size=1280,2400"):
        options.add_argument(flag)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    yield found
    found.quit()


def test_the_report_in_a_browser(report: Path, browser: webdriver.Chrome, tmp_path: Path) -> None:
    browser.get(report.as_uri())
    text = browser.find_element(By.TAG_NAME, "body").text
    for name in ("scripted-careful", "scripted-no-baseline", "scripted-overgeneralised"):
        assert name in text
    rows = browser.find_elements(By.CSS_SELECTOR, "table tbody tr")
    assert len(rows) > 6
    plots = browser.find_elements(By.CSS_SELECTOR, "svg")
    assert len(plots) >= 2
    assert all(plot.size["width"] > 200 and plot.size["height"] > 100 for plot in plots)
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    picture = tmp_path / "report.png"
    assert browser.save_screenshot(str(picture))
    assert picture.stat().st_size > 50_000


def test_the_careful_agent_is_ahead_and_no_run_was_lost(report: Path) -> None:
    told = json.loads(report.with_suffix(".json").read_text())
    f1: dict[str, list[float]] = {}
    for run in told["runs"]:
        assert run["run"]["outcome"] == "SCORED"
        f1.setdefault(run["run"]["agent"].partition("@")[0], []).append(run["run"]["f1"])
    assert {name: len(values) for name, values in f1.items()} == dict.fromkeys(f1, 2)
    best = {name: sum(values) for name, values in f1.items()}
    assert max(best, key=lambda name: best[name]) == "scripted-careful"
    assert best["scripted-careful"] > 0.8


def test_the_page_needs_nothing_from_elsewhere(report: Path) -> None:
    assert re.findall(r"""(?:src|href)=["'](?!#|data:)""", report.read_text()) == []
