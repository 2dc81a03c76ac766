"""Finding what an agent concluded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firetrial_runner import conclusion
from firetrial_runner.conclusion import MAX_BYTES, Scanner
from firetrial_runner.trajectory import Step


def scanned(*lines: str, stream: str = "stdout") -> str | None:
    scanner = Scanner()
    for number, line in enumerate(lines, 1):
        scanner.see(Step(number, 0.0, stream, line))
    found = scanner.found()
    return found.text if found else None


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], None),
        (["thinking", "no mark"], None),
        (["FINAL CONCLUSION:", "a", "b"], "a\nb"),
        (["FINAL CONCLUSION: on the line", "and on"], "on the line\nand on"),
        (["## FINAL CONCLUSION:", "", "a", ""], "a"),
        (["**FINAL CONCLUSION:** bold", "a"], "bold\na"),
        (["FINAL CONCLUSION:", "first", "FINAL CONCLUSION:", "second"], "second"),
        (["FINAL CONCLUSION:", "first", "FINAL CONCLUSION:", "  "], "first"),
        (["he said FINAL CONCLUSION: no", "x"], None),
        (["FINAL CONCLUSION", "x"], None),
        (["FINAL CONCLUSION:", " "], None),
    ],
)
def test_blocks_of_standard_output(lines: list[str], text: str | None) -> None:
    assert scanned(*lines) == text


def test_standard_error_is_not_looked_at() -> None:
    assert scanned("FINAL CONCLUSION:", "a", stream="stderr") is None


def test_pieces_of_a_line_are_one_line() -> None:
    scanner = Scanner()
    for text, continued in (
        ("FINAL CONCLUSION:", False),
        ("half ", True),
        ("FINAL CONCLUSION: whole", False),
    ):
        scanner.see(Step(1, 0.0, "stdout", text, continued))
    found = scanner.found()
    assert found is not None
    assert found.text == "half FINAL CONCLUSION: whole"


def test_a_block_without_end_is_cut_and_says_so() -> None:
    scanner = Scanner()
    scanner.see(Step(1, 0.0, "stdout", "FINAL CONCLUSION:"))
    for _ in range(40):
        scanner.see(Step(2, 0.0, "stdout", "x" * 65_535))
    found = scanner.found()
    assert found is not None
    assert len(found.text) <= MAX_BYTES
    assert found.cut == 40 * 65_536 + 1 - MAX_BYTES


def test_markdown_before_text_before_nothing(tmp_path: Path) -> None:
    assert conclusion.in_workspace(tmp_path) is None
    (tmp_path / "conclusion.txt").write_text("from text\n")
    found = conclusion.in_workspace(tmp_path)
    assert found is not None
    assert (found.text, found.source, found.cut) == ("from text", "conclusion.txt", 0)
    (tmp_path / "conclusion.md").write_text(" \n")
    assert conclusion.in_workspace(tmp_path) == found
    (tmp_path / "conclusion.md").write_bytes(b"# \xff ok")
    found = conclusion.in_workspace(tmp_path)
    assert found is not None
    assert (found.text, found.source) == ("# � ok", "conclusion.md")


def test_a_file_that_is_too_long_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "conclusion.md").write_bytes(b"x" * (MAX_BYTES + 5))
    found = conclusion.in_workspace(tmp_path)
    assert found is not None
    assert (len(found.text), found.cut) == (MAX_BYTES, 5)


@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "dangling"])
def test_only_a_regular_file_is_opened(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    at = workspace / "conclusion.md"
    if kind == "link":
        at.symlink_to(secret)
    elif kind == "dangling":
        at.symlink_to("/nowhere")
    elif kind == "pipe":
        os.mkfifo(at)
    else:
        at.mkdir()
    assert conclusion.in_workspace(workspace) is None
