import pytest

from firetrial_parser.stamp import arxiv_id, style_venue, venue_and_year


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Published as a conference paper at ICLR 2024", ("ICLR", 2024)),
        (
            "Preprint\n37th Conference on Neural Information Processing Systems (NeurIPS 2023).",
            ("NeurIPS", 2023),
        ),
        ("Proceedings of NAACL 2024, pages 1-9", ("NAACL", 2024)),
        ("arXiv:2307.03172v3 [cs.CL] 20 Nov 2023", ("", 2023)),
        ("Under review as a paper at ICML\narXiv:2307.03172v3 [cs.CL] 20 Nov 2023", ("ICML", 2023)),
        ("We compare with what ACL 2020 brought.", ("", 0)),
        ("", ("", 0)),
    ],
)
def test_venue_and_year(text: str, found: tuple[str, int]) -> None:
    assert venue_and_year(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("arXiv:2307.03172v3 [cs.CL]", "2307.03172"),
        ('<base href="https://arxiv.org/html/2410.14582v4/">', "2410.14582"),
        ("arXiv:cs/0112017v1", "cs/0112017"),
        ("no id 2307.03172", ""),
    ],
)
def test_arxiv_ids(text: str, found: str) -> None:
    assert arxiv_id(text) == found


@pytest.mark.parametrize(
    ("preamble", "found"),
    [
        (r"\usepackage{iclr2025_conference,times}", ("ICLR", 2025)),
        (r"\usepackage[final]{neurips_2023}", ("NeurIPS", 2023)),
        (r"\usepackage[accepted]{icml2024}", ("ICML", 2024)),
        (r"\usepackage[review]{acl}", ("ACL", 0)),
        (r"\documentclass{article}\usepackage{graphicx}", ("", 0)),
    ],
)
def test_styles(preamble: str, found: tuple[str, int]) -> None:
    assert style_venue(preamble) == found
