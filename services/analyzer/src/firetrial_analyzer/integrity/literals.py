"""Numbers in code: what a study is set to do, or results that were typed in to be printed."""

import re

# What prints; a number deeper in brackets is an argument of something that computes.
_PRINTS = re.compile(r"\b(?:print|write|dumps?|log|info|puts|cat|format)\s?\(")
_ECHOES = re.compile(r"^\s*(?:echo|printf)\b|[;&|]\s*(?:echo|printf)\b")
_ITEM = re.compile(r"[\"']\s?:\s?[-+]?$")
_MEASURE = re.compile(
    r"\b\w{0,20}(?:acc|accuracy|auc|auroc|f1|score|loss|err|error|recall|precision|rmse|mae|mse|r2|bleu|rouge"
    r"|ppl|perplexity|result|mean|gain|p_?val|p_?value|corr)\w{0,12}\s?=\s?\[?[-+]?$",
    re.IGNORECASE,
)
_AROUND = 200
_FEW_DIGITS, _WHOLE = 2, 0.5


def digits(value: float) -> int:
    """Significant digits of a number, without the zeros at its end."""
    return len(f"{abs(value):.12g}".partition("e")[0].replace(".", "").strip("0"))


def sets(line: str, start: int, value: float, half: float) -> bool:
    """Whether the number at `start` of a line of code can be a setting, and no result that was typed in."""
    return (digits(value) <= _FEW_DIGITS or half >= _WHOLE) and not is_told(line, start)


def is_told(line: str, start: int) -> bool:
    """Whether the number at `start` of a line of code stands there to be printed."""
    before = line[max(0, start - _AROUND) : start]
    if _ECHOES.search(before) or _ITEM.search(before) or _MEASURE.search(before):
        return True
    *_, printed = ["", *_PRINTS.split(before)] if _PRINTS.search(before) else [""]
    if not _PRINTS.search(before):
        return False
    if "{" in printed:
        return False  # a label between values that are computed: "missed={n}/40"
    quoted = printed.count('"') % 2 == 1 or printed.count("'") % 2 == 1
    return quoted or (printed.count("(") <= printed.count(")") and printed.rstrip(" -+")[-1:] in ("", ","))
