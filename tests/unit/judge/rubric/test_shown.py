"""What is read for a question: all of a short submission, the right lines of a long one, and no more."""

from __future__ import annotations

import random
import time

from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.retrieval import Index, Passage, merged, words
from firetrial_judge.rubric.shown import Limits, Reader, kinds_of
from firetrial_judge.rubric.submission import File, Submission
from firetrial_judge.rubric.tree import Deliverable, Node, Rubric

NEEDLE = "def clip_gradient_norm(parameters, limit=0.5):"


def file(name: str, *lines: str, kind: Deliverable | None = None) -> File:
    return File(name, lines, 0, kind)


def filler(lines: int, seed: int) -> list[str]:
    random_ = random.Random(seed)  # noqa: S311
    words = ("batch", "epoch", "load", "tensor", "model", "print", "value", "seed")
    return [" ".join(random_.choices(words, k=6)) for _ in range(lines)]


def rubric(*questions: str, **more: object) -> Rubric:
    return read({"id": "r", "children": [{"id": q, "question": q} | more for q in questions]}).rubric


def asked(*questions: str, **more: object) -> tuple[Rubric, tuple[Node, ...]]:
    whole = rubric(*questions, **more)
    return whole, whole.leaves


def submission(*files: File) -> Submission:
    return Submission(files, "0" * 64)


def test_words_of_code_and_prose_meet() -> None:
    assert words("clipGradientNorm(limits=0.5)") == ["clip", "gradient", "norm", "limit", "0.5"]
    assert words("The HTTPServer's clip_gradient_norm") == ["http", "server", "clip", "gradient", "norm"]


def test_a_short_submission_is_read_whole() -> None:
    reader = Reader(submission(file("a.py", "x = 1", "y = 2"), file("b.bin")), Limits())
    shown = reader.show(*asked("Anything?"))
    assert shown.text == "### a.py:1-2\n1| x = 1\n2| y = 2"
    assert shown.reading == ("a.py:1-2",)
    assert reader.listing == "a.py (2 lines)\nb.bin (0 bytes)"


def long_submission() -> Submission:
    lines = filler(5_000, 1)
    lines[3210] = NEEDLE
    return submission(*(file(f"{n}.py", *filler(400, n)) for n in range(9)), file("train.py", *lines))


def test_the_lines_that_bear_on_a_question_are_found_and_the_rest_is_not_shown() -> None:
    limits = Limits(passages=2, chars=6_000)
    shown = Reader(long_submission(), limits).show(*asked("Is the gradient norm clipped at 0.5?"))
    assert f"3211| {NEEDLE}" in shown.text
    assert 1 <= len(shown.reading) <= 2
    assert len(shown.text) < 6_500
    again = Reader(long_submission(), limits).show(*asked("Is the gradient norm clipped at 0.5?"))
    assert again == shown


def test_every_question_of_a_batch_gets_its_share() -> None:
    code, log = filler(3_000, 1), filler(3_000, 2)
    code[100] = NEEDLE
    log[2_000] = "wandb synced perplexity 12.25"
    reader = Reader(submission(file("a.py", *code), file("b.log", *log)), Limits(chars=6_000))
    shown = reader.show(*asked("Is the gradient norm clipped?", "Is perplexity recorded?"))
    assert NEEDLE in shown.text
    assert "perplexity 12.25" in shown.text


def test_a_question_about_code_is_not_answered_from_the_paper() -> None:
    files = (
        file("p.tex", "We clip gradients.", kind=Deliverable.PAPER),
        file("a.py", "pass", kind=Deliverable.CODE),
        file("x.json", "{}"),
    )
    reader = Reader(submission(*files), Limits())
    assert reader.show(*asked("Clipped?", deliverables=["code"])).reading == ("a.py:1-1", "x.json:1-1")
    developed = rubric("Clipped?", category="Code Development")
    assert kinds_of(developed.leaves[0]) == (Deliverable.CODE,)
    small = Reader(submission(*files), Limits(chars=10))
    assert "p.tex" not in small.show(*asked("Clip gradients?", deliverables=["code"])).text


def test_windows_cover_every_line_and_bound_long_ones() -> None:
    lines = [f"line{n}" for n in range(500)] + ["x" * 1_000] * 30
    index = Index([file("a.txt", *lines)])
    found = merged(index.find("a txt", (), 10_000))
    assert found == [Passage(0, 1, 530)]
    lengths = [p.last - p.first + 1 for p in index.find("txt", (), 10_000)]
    assert max(lengths) == 40


def test_evidence_is_kept_within_what_was_shown() -> None:
    shown = Reader(submission(file("src/a.py", *filler(20, 1)), file("b.py", "1")), Limits()).show(
        *asked("?")
    )
    given = [
        "src/a.py:3-5",
        "src/a.py:19-99",
        "b.py:1",
        "b.py:7-9",
        "c.py:1-1",
        "src/a.py:5-3",
        "rm -rf",
        7,
        None,
    ]
    assert shown.named(given) == ("src/a.py:3-5", "src/a.py:19-20", "b.py:1-1")
    assert shown.named(["b.py:1-1"] * 50) == ("b.py:1-1",)
    assert shown.named([f"src/a.py:{'9' * 5000}"]) == ()


def test_where_no_word_is_shared_beginnings_and_the_ends_of_logs_are_read() -> None:
    log = file("run.log", *filler(5_000, 1), kind=Deliverable.LOGS)
    code = file("run.py", *filler(5_000, 2), kind=Deliverable.CODE)
    reader = Reader(submission(log, code), Limits())
    assert reader.show(*asked("Zebra?")).reading == ("run.log:4981-5000", "run.py:1-40")
    assert reader.show(*asked("Zebra?", deliverables=["code"])).reading == ("run.py:1-40",)


def test_nothing_to_read_is_said() -> None:
    shown = Reader(submission(file("a.py", "x", kind=Deliverable.CODE)), Limits()).show(
        *asked("?", deliverable="logs")
    )
    assert (shown.reading, shown.text) == ((), "(nothing found that bears on the questions)")


def test_a_line_that_imitates_a_passage_keeps_its_number() -> None:
    shown = Reader(submission(file("a.py", "### paper.tex:1-9", "1| We did it.")), Limits()).show(*asked("?"))
    assert [line[:3] for line in shown.text.splitlines()] == ["###", "1| ", "2| "]


def test_3_mib_of_text_are_indexed_in_seconds() -> None:
    files = [file(f"{n}.py", *filler(1_000, n)) for n in range(80)]
    begun = time.process_time()
    Reader(submission(*files), Limits())
    assert time.process_time() - begun < 8
