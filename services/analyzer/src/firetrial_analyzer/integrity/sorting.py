"""What a number of a conclusion is about, by the words beside it."""

import re
from bisect import bisect_right
from enum import StrEnum


class Sort(StrEnum):
    """What a number is about."""

    RESULT = "result"
    SETTING = "setting"  # how much was done, and with which parameters
    BOUND = "bound"  # p < x
    NONE = "none"  # a year, a section, a part of a name


_MASKS = re.compile(
    r"https?://\S+|\b(?:arxiv|doi)[:.]\s?\S+|\b10\.\d{4,}/\S+"
    r"|(?<![\w.])[~.]{0,2}/?(?:[\w.-]{1,80}/){1,20}[\w.-]*[A-Za-z_][\w.-]{0,80}"
    r"|\b[\w-]{1,80}\.(?:py|json|jsonl|csv|tsv|txt|md|log|png|pdf|ipynb|sh|yaml|yml)\b"
    r"|(?<![\d.])\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d)|\b\d{1,2}:\d\d(?::\d\d)?\b|\bv?\d+\.\d+\.\d+[\w.]*"
    r"|\b(?:python|cuda|pytorch|torch|ubuntu|version|v|release)[\s=]?\d[\d.]*"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? \d{1,2}(?:, \d{4})?\b"
    r"|(?<=\w )\[\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\](?<!CI \[)"
    r"|^[ \t]*(?:[-*#>|]{1,6}[ \t]{1,4})?\(?\d{1,3}[.)](?=\s)",
    re.IGNORECASE | re.MULTILINE,
)
# "Table 3", "layers 8 and 16", "prompt 2", but not "of all questions 161".
_BEFORE = re.compile(
    r"(?:\b(?:(?:section|sec|table|figure|fig|eq|equation|chapter|page|line|step|phase|stage|hypothes[ei]|position"
    r"|layer|epoch|fold|bucket|iteration|level|version)s?|appendix|pp|footnote|part|experiment|study|rq|claim"
    r"|finding|pos|indices|index|round|turn|group|prompt|question|option|item|no|nr|trial|gpt|llama|claude|gemini"
    r"|gemma|qwen|phi|opus|sonnet|palm|mistral|falcon|vicuna|bert|t5|top)[.:]?[\s=#≤<]{0,3}"
    r"(?:\d[\d.]{0,5}(?:\s?(?:[-–,&]|and|to)\s?)){0,3})$"
    r"|[A-Za-z]-$|\w@$|\b[A-Za-z]{1,20}-\d[\w.]{0,8}-$|[\^_\\]\{?$",
    re.IGNORECASE,
)
_LEVEL = re.compile(r"(?:α|\balpha|\bsignificance level(?: of)?)\s?[=:]?\s?$", re.IGNORECASE)
_LEVELS = frozenset({"0.1", "0.10", "0.05", ".05", "0.01", ".01", "0.005", "0.001", ".001", "5%", "1%"})
_AFTER = re.compile(
    r"(?:%|\s?percent)?[-\s]?(?:CIs?\b|intervals?\b|confidence|credible|level\b|significance)"
    r"|-(?!fold|point|percent|\d)[A-Za-z]|\s(?:cross-?\s?validation|CV\b)|(?:st|nd|rd|th)\b|[A-Za-z_]",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_MEASURE = re.compile(r"[=:≈~]\s?$|\b(?:of|to|is|was|at|by)\s$")
_SETTING_BEFORE = re.compile(
    r"\b(?:temperature|temp|top[-_ ]?[pk]|max[-_ ]?(?:new[-_ ])?tokens|seeds?|n|N|k|K|batch(?:es)?"
    r"|batch[-_ ]sizes?|learning[-_ ]rate|lr|dropout|samples?|sample size|num\w{0,12}|threshold)\b"
    r"\s?(?:of|is|was|=|:|≈)?\s?\(?$"
)
_SETTING_AFTER = re.compile(
    r"\s(?:[A-Za-z-]{1,16}\s){0,2}?(?:samples|examples|questions|problems|prompts|items|instances|trials"
    r"|vignettes|scenarios|documents|positions|responses|patients|calls|runs|seeds|epochs|shots|rounds|tasks"
    r"|datasets|models|conditions|repeats|repetitions|controls|participants|annotators|transcripts|generations)\b"
)
_BOUND = re.compile(r"\b[pP](?:[-\s]?values?)?s?\s?(?:all\s)?[<≤>≥]=?\s?$")

# Said of others, or of what should be: not claimed to have been measured.
_QUOTED = re.compile(
    r"\b(?:theor(?:y|etical\w*)|analytic\w*|literature|published|textbook|et al\.|well[- ]known|known"
    r"|reported (?:by|in)|predict(?:s|ed)|closed[- ]form|formula|nominal|exact (?:value|solution|critical)"
    r"|true (?:value|mean|coefficient|parameter|effect)s?|n log2? ?n)\b[^.;!?\n|]{0,110}$"
    r"|\btheor(?:y|etical\w*)\b[^;!?\n|]{0,110}$",
    re.IGNORECASE,
)

# Of an interval or a test: "95% CI".
STANDARD_LEVEL = re.compile(r"\s?(?:CI|confidence|level)\b")


class Masks:
    """Stretches of a text whose numbers are none: addresses, paths, dates, versions, numbers of lists."""

    def __init__(self, text: str) -> None:
        spans = [match.span() for match in _MASKS.finditer(text)]
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def cover(self, place: int) -> bool:
        """Whether a place of the text lies in one."""
        last = bisect_right(self._starts, place) - 1
        return last >= 0 and place < self._ends[last]


def sort_of(text: str, start: int, end: int, *, counted: bool, share: bool) -> Sort:
    """What the number from `start` to `end` is about. It is `counted` if whole and without a unit, and a
    `share` if it is a decimal below 1."""
    before, after = text[max(0, start - 40) : start], text[end : end + 60]
    bare = text[end - 1 : end].isdigit()
    named = bare and _BEFORE.search(before) and not (share and before[-1:] in " :=(")
    year = counted and _YEAR.fullmatch(text[start:end]) and not _MEASURE.search(before)
    if _BOUND.search(before):
        return Sort.BOUND
    level = text[start:end] in _LEVELS and _LEVEL.search(before)
    if _QUOTED.search(text[max(0, start - 130) : start]):
        return Sort.NONE
    if named or level or _AFTER.match(after):
        return Sort.NONE
    if _SETTING_BEFORE.search(before) or (counted and _SETTING_AFTER.match(after)):
        return Sort.SETTING
    return Sort.NONE if year else Sort.RESULT
