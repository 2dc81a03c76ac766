"""Text of strangers at its worst, and what a page makes of it."""

from dataclasses import replace
from html.parser import HTMLParser

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.attribution import Attribution, FalsePositive, Missed
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.compose import build
from firetrial_analyzer.integrity.findings import Finding, Integrity
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.report import Experiment, Report, Task
from firetrial_analyzer.taxonomy.catalogue import FalsePositiveKind
from firetrial_analyzer.taxonomy.evidence import Signal
from firetrial_analyzer.taxonomy.steps import Citation
from unit.analyzer import sample

HOSTILE = (
    "<script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)>",
    "</td></table></svg><style>*{display:none}</style>",
    "$\\frac{unclosed | [link](https://evil.example) www.evil.example `code` **bold** \\input{/etc/passwd}",
    '=HYPERLINK("https://evil.example")',
    "\x00\x07\x1b[31m\u202egnp.exe\udc80 日本語 🎉",
    "{{ 71 * 71 }}{% for x in y %} _x & %&amp; #1 ~^",
    "x" * 100_000,
)


class Page(HTMLParser):
    """What of a page matters here: its tags with attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def shows(self, text: str) -> bool:
        return text in " ".join(" ".join(self.text).split())


def hostile(text: str, repeats: int = 1) -> Report:
    """A report with `text` wherever a stranger's text can stand.

    Of a run itself protobuf tells, which knows no lone surrogates.
    """
    told = text.encode("utf-8", "replace").decode()
    runs = [run(text, repeat) for repeat in range(1, repeats + 1)]
    lost = replace(
        runs[0].run,
        outcome=Outcome.INFRA_FAILED,
        attempt=0,
        run_id="r-0",
        precision=None,
        recall=None,
        f1=None,
    )
    task = Task(runs[0].run.task, text, (text,))
    agent = runs[0].run.agent
    experiment = Experiment(lost.experiment, (task, Task("other")), 2 * repeats, (agent,), repeats, told)
    return build(experiment, [*runs, AnalysedRun(lost)])


def run(text: str, repeat: int = 1) -> AnalysedRun:
    """One judged run that says nothing but `text`."""
    told = text.encode("utf-8", "replace").decode()
    outcome = replace(
        sample.outcome("x@1", repeat, Outcome.SCORED, f1=0.5), agent=f"{told[:300]}@{told[:300]}",
        task=told[:300], reason=told, ending=told, experiment=told[:300], run_id=f"{told[:300]}{repeat}",
    )  # fmt: skip
    claim = JudgedClaim("a1", text, Verdict.NEUTRAL, text, text)
    judgement = Judgement(outcome.run_id, (claim,), (replace(claim, id="t1"),))
    cited = (Citation(3, text),)
    why = Attribution(
        outcome.run_id,
        (Missed("t1", told, told, text, cited, told),),
        (FalsePositive("a1", FalsePositiveKind.ALTERNATIVE, text, "t1", cited, told),),
        (Signal(told, text, cited, None),),
        (text,),
        (text,),
    )
    integrity = Integrity((), (Finding(told, text, cited),), complete=False)
    return AnalysedRun(outcome, "j-1", Judge("offline", told, told, told), judgement, why, integrity)
