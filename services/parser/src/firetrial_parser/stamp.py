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


def _stamped(text: str) -> int:
    match = _DATED.search(text)
    return int(match[1]) if match else 0
