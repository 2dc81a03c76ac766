from firetrial_parser.text import read_text

TEXT = """\
A study of things

Abstract

We study
things.

1 Introduction
==============

Things are many. They are accu-
rate.

2.1 Details of it

See below.
Table 1: Counts of things.

3 RESULTS ARE SHOUTED.

DISCUSSION

Done.
"""


def test_headings_captions_and_hyphens() -> None:
    found = read_text(TEXT.encode())
    assert found.title == "A study of things"
    assert found.abstract == "We study things."
    assert [(s.title, s.level) for s in found.sections] == [
        ("Abstract", 1),
        ("1 Introduction", 1),
        ("2.1 Details of it", 2),
        ("DISCUSSION", 1),
    ]
    assert found.sections[1].text == "Things are many. They are accurate."
    assert [(c.label, c.text, c.section) for c in found.captions] == [("Table 1", "Counts of things.", 2)]
