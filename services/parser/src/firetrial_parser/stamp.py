"""What a paper says of its publication: arXiv id, venue and year, as they stand in its first lines."""

from __future__ import annotations

import re

_ARXIV = re.compile(
    r"arXiv[:./](?:abs/|pdf/|html/)?\s?(\d{4}\.\d{4,5}|[a-z\-]+/\d{7})|arxiv\.org/\w+/(\d{4}\.\d{4,5})",
    re.IGNORECASE,
)
_DATED = re.compile(r"arXiv:\s?\S+\s+\[[\w.\-]+\]\s+\d{1,2}\s+[A-Z][a-z]{2}\s+(\d{4})")
_VENUES = {
    "ICLR": r"ICLR|International Conference on Learning Representations",
    "NeurIPS": r"NeurIPS|NIPS|Neural Information Processing Systems",
    "ICML": r"ICML|International Conference on Machine Learning",
    "COLM": r"COLM|Conference on Language Modeling",
    "TMLR": r"TMLR|Transactions on Machine Learning Research",
    "JMLR": r"JMLR|Journal of Machine Learning Research",
    "TACL": r"TACL|Transactions of the Association for Computational Linguistics",
    "NAACL": r"NAACL|North American Chapter of the Association",
    "EMNLP": r"EMNLP|Empirical Methods in Natural Language Processing",
    "ACL": r"ACL|Annual Meeting of the Association for Computational Linguistics",
    "AAAI": r"AAAI",
    "CVPR": r"CVPR",
}
_PUBLISHED = re.compile(
    r"(?i:published|accepted|appear\w*|presented|proceedings|paper|conference|journal|preprint|review)"
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")


def arxiv_id(text: str) -> str:
    """The first arXiv id in the text, or ""."""
    match = _ARXIV.search(text)
    return (match[1] or match[2]) if match else ""


def venue_and_year(text: str) -> tuple[str, int]:
    """The venue that a line about publication names, and its year; ("", 0) where the text says neither.

    An arXiv stamp gives the year where nothing else does.
    """
    for line in text.split("\n"):
        for name, pattern in _VENUES.items():
            if _PUBLISHED.search(line) and re.search(rf"\b(?:{pattern})\b", line):
                year = _YEAR.search(line)
                return name, int(year[0]) if year else _stamped(text)
    return "", _stamped(text)


_STYLE = re.compile(r"\\(?:usepackage|documentclass)\s*(?:\[[^\]]{0,300}\])?\s*\{([^{}]{1,200})\}")
_IN_STYLE = re.compile(
    r"(?i)\b(iclr|neurips|nips|icml|colm|tmlr|jmlr|tacl|naacl|emnlp|acl|aaai|cvpr)[_-]?(20\d\d|\d\d)?(?=[_\-\b]|conf|$)"
)


def style_venue(preamble: str) -> tuple[str, int]:
    """The venue and year that a LaTeX source's style files are made for; ("", 0) where they name none."""
    for names in _STYLE.findall(preamble):
        for name in names.split(","):
            match = _IN_STYLE.search(name.strip())
            if match is not None:
                venue = next(
                    v for v, pattern in _VENUES.items() if re.search(rf"(?i)\b{match[1]}\b", pattern)
                )
                year = int(match[2]) if match[2] else 0
                return venue, year + 2000 * (0 < year < 100)
    return "", 0


def _stamped(text: str) -> int:
    match = _DATED.search(text)
    return int(match[1]) if match else 0
