"""The page of one run: what it packs, what it links, and that it runs nothing of a stranger's."""

import base64
import gzip
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from firetrial_analyzer.attribution import RUN, Attribution, Missed
from firetrial_analyzer.integrity.findings import Finding, Integrity, NumberTrace, Trace
from firetrial_analyzer.render.run_page import cited_steps, html
from firetrial_analyzer.render.viewer import KINDS, pack, visible
from firetrial_analyzer.report import Task
from firetrial_analyzer.taxonomy.steps import Citation
from firetrial_analyzer.window import Gap, Line, Window
from unit.analyzer import hostile, sample
from unit.analyzer.hostile import HOSTILE, Page
from unit.analyzer.test_render_page import FORBIDDEN, allowed, own_script

TASK = Task(sample.TASK, sample.QUESTION)


def line(number: int, text: str = "text", **more: Any) -> Line:
    return replace(Line(number, number, number / 10, "output", "stdout", text, len(text)), **more)


def unpacked(letters: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(letters)))


def test_packed_lines_come_out_as_they_went_in() -> None:
    lines = tuple(line(number, f"line {number}") for number in range(1, 5001))
    packed = pack(Window(lines))
    numbers: list[int] = []
    times: list[int] = []
    texts: list[str] = []
    for block in packed.blocks:
        told = unpacked(block.packed)
        assert len(numbers) == block.start
        step = time = 0
        for place, text in enumerate(told["texts"]):
            step, time = step + told["steps"][place], time + told["times"][place]
            numbers.append(step)
            times.append(time)
            texts.append(text)
        assert numbers[block.start] == block.first
    assert numbers == [one.number for one in lines]
    assert texts == [one.text for one in lines]
    assert times[-1] == 500_000
    assert packed == pack(Window(lines))


def test_flags_tell_kind_stream_failure_and_citation() -> None:
    lines = (
        line(1, kind="command", failed=True),
        line(2, stream="stderr"),
        line(3, "Traceback (most recent call last):"),
        line(4, last=6),
        line(7, kind="something-new"),
    )
    packed = pack(Window(lines, (Gap(8, 9),)), cited={5})
    flags = gzip.decompress(base64.b64decode(packed.flags))
    kind = {name: number for number, name in enumerate(KINDS)}
    assert list(flags) == [kind["command"] | 16, 8, 16, 32, 0, kind["gap"]]
    assert "Steps 8 to 9 are left out here." in unpacked(packed.blocks[0].packed)["texts"]


def test_long_lines_make_blocks_of_their_own_and_say_how_long_they_were() -> None:
    packed = pack(Window(tuple(line(n, "x" * 60_000, size=10**9) for n in range(1, 31))))
    assert len(packed.blocks) > 3
    assert unpacked(packed.blocks[0].packed)["sizes"]["0"] == 10**9


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m ünï", "red ünï"),
        ("a\tb\nc", "a\tb\nc"),
        ("\u202egnp.exe\x07\udc80", "\\u202egnp.exe\\x07\\udc80"),
    ],
)
def test_unseen_characters_are_spelled_out(told: str, shown: str) -> None:
    assert visible(told) == shown


def test_cited_steps_are_links_where_the_page_has_them() -> None:
    item = sample.runs()[0]
    assert item.judgement
    cited = (Citation(3, "a quote"), Citation(50, "left out"), Citation(500, "beyond"))
    why = Attribution(
        item.run.run_id, (Missed("t4", "EXECUTION", "LAZINESS", "20 of 200.", cited, "signals"),)
    )
    page = html(replace(item, attribution=why), TASK, Window((line(3), line(60)), (Gap(40, 59),)))
    assert '<a href="#step-3">Step 3</a> <q>a quote</q>' in page
    assert "<strong>Step 50</strong> <q>left out</q>" in page
    assert "<strong>Step 500</strong>" in page
    assert "Execution: <strong>Laziness</strong>, by signals: 20 of 200." in page
    assert "steps 40 to 59" in page


def test_a_run_that_failed_says_why() -> None:
    item = next(item for item in sample.runs() if item.run.reason == "no conclusion was left")
    why = Attribution(
        item.run.run_id, (Missed(RUN, "SYSTEM", "TIMEOUT", "It ran out of time.", (), "signals"),)
    )
    page = Page(html(replace(item, attribution=why), TASK, Window(())))
    for text in ("no conclusion was left", "exited with 1", "Why it failed", "System: Timeout , by signals"):
        assert page.shows(text), text
    assert page.shows("No step of this run was recorded.")


def test_integrity_is_told_with_its_findings() -> None:
    numbers = (NumberTrace("0.9", 0, 3, Trace.TRACED), NumberTrace("57 %", 5, 9, Trace.UNTRACED))
    found = Integrity(
        numbers, (Finding("untraced_number", "57 % is nowhere.", (Citation(2, "q"),)),), complete=False
    )
    item = replace(sample.runs()[0], integrity=found)
    page = Page(html(item, TASK, Window((line(2),))))
    assert page.shows(
        "1 found in the run’s outputs, 1 untraced. Outputs and files were not read to their end."
    )
    assert page.shows("57 % is nowhere.")
    assert cited_steps(item) == {2}


@pytest.mark.parametrize("text", HOSTILE)
def test_the_page_of_a_run_holds_text_and_no_markup(text: str) -> None:
    item = hostile.run(text)
    window = Window((line(1, text[:60_000]), line(3, kind="command", note=text[:200])))
    source = html(item, Task(item.run.task, text, (text,)), window)
    page = Page(source)
    assert not {tag for tag, _ in page.tags} & (FORBIDDEN - {"form"})
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        assert attributes.get("src") is None
        assert (attributes.get("href") or "#").startswith(("#", "data:,")), tag
    assert allowed(source) == own_script(source)
    packs = re.findall(r'<script type="text/plain" id="[a-z0-9-]+">(.*?)</script>', source)
    assert len(packs) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9+/=]+", pack) for pack in packs)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u202e]", source)


def test_the_same_run_gives_the_same_bytes() -> None:
    item, window = sample.runs()[0], Window((line(1), line(2)))
    assert html(item, TASK, window) == html(item, TASK, window)
