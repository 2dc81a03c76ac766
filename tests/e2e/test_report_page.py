"""Reports as browsers show them: by day, by night, on a phone and on paper, to anyone, and in time."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from firetrial_analyzer.render import Format, render
from firetrial_analyzer.render.run_page import html
from firetrial_analyzer.report import Task
from firetrial_analyzer.window import window
from support import made_experiment, made_trajectory, servers
from support.browser import READERS, Browser, Reader, browser
from support.machine import Machine
from unit.analyzer import hostile

pytestmark = [
    pytest.mark.needs("nats-server", "bwrap", "chromium", "chromedriver"),
    pytest.mark.timeout(300),
]
STEPS = 350_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The demo's report, two of its pages and a comparison, made by the commands that a newcomer runs."""
    found = tmp_path_factory.mktemp("demo")
    machine = Machine(found / "home")
    machine.json("up", "-d")
    try:
        first = machine.json("demo", "--out", str(found / "out"))["experiment_id"]
        second = machine.json("demo", "--repeats", "1", "--out", str(found / "again"))["experiment_id"]
        run = machine.json("runs", "list", first)[0]["id"]
        machine.json("runs", "page", run, "--out", str(found / "out" / "run.html"))
        machine.json("report", "--compare", first, second, "--out", str(found / "out" / "versus.html"))
        yield found / "out"
    finally:
        machine.run("down")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of made-up work: a report of 360 runs, and a run of 350,000 steps."""
    found = tmp_path_factory.mktemp("made")
    (found / "report.html").write_bytes(render(made_experiment.report(), Format.HTML))
    chunks = made_trajectory.chunks(STEPS)

    async def load(key: str) -> bytes:
        return chunks[key]

    item = next(item for item in made_experiment.runs(1) if item.judgement)
    steps = asyncio.run(window(list(chunks), load))
    (found / "run.html").write_text(html(item, Task(item.run.task, "What do long runs show?"), steps))
    return found


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("how", READERS, ids=lambda how: how.name)
@pytest.mark.parametrize("page", ["report.html", "run.html", "versus.html"])
def test_the_demos_pages_are_for_everyone(folder: Path, reader: Browser, page: str, how: Reader) -> None:
    reader.be(how)
    reader.open(folder / page)
    assert reader.violations() == []
    assert reader.console() == []
    assert reader.ask("return document.documentElement.scrollWidth") <= how.width


def test_the_demos_report_shows_agents_and_plots(folder: Path, reader: Browser) -> None:
    reader.be(READERS[0])
    reader.open(folder / "report.html")
    text = reader.driver.find_element(By.TAG_NAME, "body").text
    for name in ("scripted-careful", "scripted-no-baseline", "scripted-overgeneralised"):
        assert name in text
    plots = reader.driver.find_elements(By.CSS_SELECTOR, "svg")
    assert len(plots) >= 2
    assert all(plot.size["width"] > 200 and plot.size["height"] > 100 for plot in plots)


def test_the_careful_agent_is_ahead_and_no_run_was_lost(folder: Path) -> None:
    told = json.loads((folder / "report.json").read_text())
    f1: dict[str, list[float]] = {}
    for run in told["runs"]:
        assert run["run"]["outcome"] == "SCORED"
        f1.setdefault(run["run"]["agent"].partition("@")[0], []).append(run["run"]["f1"])
    assert {name: len(values) for name, values in f1.items()} == dict.fromkeys(f1, 2)
    best = {name: sum(values) for name, values in f1.items()}
    assert max(best, key=lambda name: best[name]) == "scripted-careful"
    assert best["scripted-careful"] > 0.8


@pytest.mark.parametrize("page", ["report.html", "run.html", "versus.html"])
def test_a_page_needs_nothing_from_elsewhere(folder: Path, page: str) -> None:
    assert re.findall(r"""(?:src|href)=["'](?!#|data:)""", (folder / page).read_text()) == []


def test_a_run_of_the_demo_shows_its_steps(folder: Path, reader: Browser) -> None:
    reader.be(READERS[0])
    reader.open(folder / "run.html")

    def ended() -> bool:
        reader.ask("const list = document.getElementById('lines'); list.scrollTop = list.scrollHeight")
        return any("exited with 0" in row for row in shown(reader))

    servers.wait_for(ended, "the last steps")
    assert "What the agent claimed" in reader.driver.find_element(By.TAG_NAME, "body").text


@pytest.mark.parametrize("how", READERS, ids=lambda how: how.name)
def test_a_report_of_360_runs_is_small_fast_and_for_everyone(
    made: Path, reader: Browser, how: Reader
) -> None:
    reader.be(how)
    page = made / "report.html"
    assert page.stat().st_size < 5_000_000
    assert reader.open(page) < 2000
    assert reader.ask("return document.querySelectorAll('details.of-run').length") == 360
    reader.ask("location.hash = '#' + document.querySelectorAll('details.of-run')[200].id")
    opened = "return document.querySelectorAll('details.of-run')[200].querySelectorAll('.claims td').length"
    servers.wait_for(lambda: reader.ask(opened) > 10, "the claims of the run that the address names")
    assert reader.violations() == []
    assert reader.console() == []
    assert reader.ask("return document.documentElement.scrollWidth") <= how.width


def test_runs_are_found_by_words_and_outcome(made: Path, reader: Browser) -> None:
    reader.be(READERS[0])
    reader.open(made / "report.html")
    search = reader.driver.find_element(By.ID, "run-search")
    search.send_keys("tiny-model no score")
    count = reader.driver.find_element(By.ID, "run-count")
    found = int(count.text.split()[0])
    seen = "return document.querySelectorAll('details.of-run:not([hidden])').length"
    assert reader.ask(seen) == found < 36
    search.send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.BACKSPACE)
    assert count.text == "360 of 360 runs"


def test_a_report_is_printed_whole(made: Path, reader: Browser) -> None:
    reader.be(READERS[0])
    reader.open(made / "report.html")
    pages = reader.printed().count(b"/Type /Page\n")
    assert 5 <= pages <= 60


def shown(reader: Browser) -> list[str]:
    """The rows of the trajectory that are in the document."""
    found: list[str] = reader.ask(
        "return [...document.querySelectorAll('.line:not([hidden])')]"
        ".sort((a, b) => a.dataset.row - b.dataset.row).map((row) => row.textContent)"
    )
    return found


def chosen(reader: Browser) -> str:
    told: str = reader.ask("return document.querySelector('.line[aria-selected=true]')?.textContent ?? ''")
    return told


WATCH = """
window.blocks = [];
new PerformanceObserver((list) => list.getEntries().forEach((entry) => blocks.push(entry.duration)))
  .observe({ type: "longtask", buffered: true });
"""
SCROLL = """
const done = arguments[0], list = document.getElementById("lines");
let frame = 0;
const next = () => {
  list.scrollTop = (list.scrollHeight * ++frame) / 200;
  if (frame < 200) requestAnimationFrame(next);
  else setTimeout(() => done(document.querySelectorAll(".line").length), 500);
};
requestAnimationFrame(next);
"""


def test_350_000_steps_do_not_freeze_a_browser(made: Path, reader: Browser) -> None:
    reader.be(READERS[0])
    page = made / "run.html"
    assert page.stat().st_size < 16_000_000
    assert reader.open(page) < 2000
    reader.ask(WATCH)
    # However far one scrolls, only what is in sight is in the document, and the page never stops for long.
    assert reader.wait(SCROLL) < 100
    assert shown(reader)[-1].startswith(f"{STEPS:,}")
    assert max(reader.ask("return blocks"), default=0) < 200
    search = reader.driver.find_element(By.ID, "search")
    search.send_keys("--seed 3")
    told = reader.driver.find_element(By.ID, "told")
    expected = sum(number % 7 == 3 for number in range(9, STEPS + 1, 9))
    servers.wait_for(lambda: told.text == f"{expected:,} lines match.", "the search", 20)
    search.send_keys(Keys.ENTER)
    servers.wait_for(lambda: "--seed 3" in chosen(reader), "the first match")
    assert max(reader.ask("return blocks"), default=0) < 200
    assert reader.console() == []


def test_steps_are_filtered(made: Path, reader: Browser) -> None:
    reader.be(READERS[0])
    reader.open(made / "run.html")
    told = reader.driver.find_element(By.ID, "told")
    commands = STEPS // 9
    reader.driver.find_element(By.CSS_SELECTOR, "#kind option[value=command]").click()
    servers.wait_for(lambda: told.text == f"{commands:,} of {STEPS:,} lines shown.", "the commands")
    reader.driver.find_element(By.ID, "failed").click()
    failed = sum(number % 2 for number in range(9, STEPS + 1, 9))
    servers.wait_for(lambda: told.text == f"{failed:,} of {STEPS:,} lines shown.", "the failed ones")
    assert all("command, failed" in row for row in shown(reader))
    # What is filtered out can be gone to all the same.
    reader.ask("location.hash = '#step-100000'")
    servers.wait_for(lambda: chosen(reader).startswith("100,000"), "step 100,000")
    assert told.text == ""


def test_an_address_leads_to_a_step_and_keys_go_on_from_there(made: Path, reader: Browser) -> None:
    reader.be(READERS[0])
    reader.open(made / "run.html", "#step-123456")
    servers.wait_for(lambda: chosen(reader).startswith("123,456"), "the step that the address names")
    assert reader.ask("return document.activeElement.id") == "lines"
    keys = reader.driver.switch_to.active_element
    keys.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    servers.wait_for(lambda: reader.ask("return location.hash") == "#step-123457", "the next step")
    keys.send_keys(Keys.END)
    servers.wait_for(lambda: chosen(reader).startswith(f"{STEPS:,}"), "the last step")
    assert reader.violations() == []
    keys.send_keys(Keys.ENTER)
    assert reader.ask("return document.activeElement.id") == "detail-text"
    reader.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert reader.ask("return document.activeElement.id") == "lines"


def test_a_long_line_is_cut_in_sight_and_whole_where_it_is_opened(made: Path, reader: Browser) -> None:
    reader.be(READERS[0])
    reader.open(made / "run.html", "#step-50000")
    servers.wait_for(lambda: chosen(reader).startswith("50,000"), "the long line")
    assert "200,000 characters" in chosen(reader)
    assert len(chosen(reader)) < 1000
    detail = reader.driver.find_element(By.ID, "detail")
    servers.wait_for(detail.is_displayed, "its text")
    assert reader.ask("return document.getElementById('detail-text').textContent.length") == 65_536
    assert "the first 65,536 characters of 200,000" in detail.text


@pytest.mark.parametrize("text", hostile.HOSTILE[:2])
def test_text_of_strangers_stays_text(tmp_path: Path, reader: Browser, text: str) -> None:
    page = tmp_path / "report.html"
    page.write_bytes(render(hostile.hostile(text, repeats=30), Format.HTML))
    reader.be(READERS[0])
    reader.open(page)
    reader.ask("document.querySelectorAll('details.of-run').forEach((run) => { run.open = true; })")
    opened = "return [...document.querySelectorAll('.of-run .run')].every((run) => run.childElementCount > 3)"
    servers.wait_for(lambda: reader.ask(opened), "the runs")
    tags = reader.ask(
        "return [...new Set([...document.querySelectorAll('.of-run *')].map((e) => e.localName))]"
    )
    assert not set(tags) & {"script", "img", "style", "svg", "iframe"}
    names = reader.ask("return [...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())")
    assert not [name for name in names if name.startswith("on")]
    assert reader.ask("return getComputedStyle(document.body).display") == "block"
    assert reader.console() == []


def test_without_a_script_the_essentials_read(made: Path) -> None:
    text = re.sub(r"<script.*?</script>", "", (made / "report.html").read_text(), flags=re.DOTALL)
    assert text.count('class="of-run"') == 360
    assert "Opening a run needs a script" in text
    report = replace(made_experiment.report(), runs=())
    assert all(agent.agent.partition("@")[0] in text for agent in report.agents)
