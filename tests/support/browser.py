"""Headless Chromium as a reader: a desktop by day or night, or a phone; and what axe-core says of a page."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
_AXE = """
const done = arguments[0];
axe.run(document, {resultTypes: ["violations"]}).then(
  (found) => done(found.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 300)}`)));
"""


@dataclass(frozen=True, slots=True)
class Reader:
    """A browser's window in CSS pixels, and whether it is dark."""

    name: str
    width: int = 1280
    height: int = 900
    dark: bool = False


READERS = (Reader("light"), Reader("dark", dark=True), Reader("phone", 360, 740))


class Browser:
    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def be(self, reader: Reader) -> None:
        """Take the size and colours of a reader."""
        size = {"width": reader.width, "height": reader.height, "deviceScaleFactor": 1, "mobile": False}
        self._command("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if reader.dark else "light"}
        self._command("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, page: Path, anchor: str = "") -> float:
        """Milliseconds from the start of the navigation to the end of the page's load event."""
        self.driver.get("about:blank")
        self.driver.get(page.as_uri() + anchor)
        return float(self.ask("return performance.getEntriesByType('navigation')[0].loadEventEnd"))

    def ask(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def wait(self, script: str, *values: Any) -> Any:
        """What the script hands to its last argument, a callback."""
        return self.driver.execute_async_script(script, *values)

    def violations(self) -> list[str]:
        """What axe-core finds: the rule, and the first element that breaks it."""
        self.ask(files("axe_playwright_python").joinpath("axe.min.js").read_text())
        found: list[str] = self.wait(_AXE)
        return found

    def console(self) -> list[Any]:
        """What the page wrote there since it was asked last, errors of policy and of script included."""
        told: list[Any] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return told

    def printed(self) -> bytes:
        """The page as a PDF on A4."""
        told = self._command("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
        return base64.b64decode(told["data"])

    def _command(self, name: str, values: dict[str, Any]) -> Any:
        return self.driver.execute_cdp_cmd(name, values)


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Chromium with a profile of its own, ended at the end."""
    options = webdriver.ChromeOptions()
    for flag in (*_QUIET, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_script_timeout(120)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
