"""A paper under review as a person reads it: its tree with quotations and pages, or what screening found."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from firetrial.parser.v1 import review_pb2 as pb
from firetrial.parser.v1 import screening_pb2
from firetrial.parser.v1.paper_pb2 import NODE_KIND_LEAF, Node, Quote
from firetrial_client.cli.output import when, word
from firetrial_client.cli.screening import shown

_STATES = {
    pb.REVIEW_STATE_OPEN: "yellow",
    pb.REVIEW_STATE_DISPUTED: "magenta",
    pb.REVIEW_STATE_ACCEPTED: "green",
    pb.REVIEW_STATE_REJECTED: "red",
}
_MET = {screening_pb2.MET_YES: "green", screening_pb2.MET_NO: "red", screening_pb2.MET_UNCERTAIN: "yellow"}
_EXACT = 0.9995


def rendered(found: pb.GetReviewResponse, *, width: int, colour: bool) -> str:
    """The whole view as text, with the terminal's colours where those are wanted."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, no_color=not colour, highlight=False)
    console.print(Group(*_parts(found)))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _parts(found: pb.GetReviewResponse) -> Iterator[RenderableType]:
    yield _head(found.review)
    if found.HasField("tree"):
        yield _tree(found.tree, _by_node(found.faults))
        if found.changes:
            yield Text("\nChanged from the version before", style="bold")
            yield from map(_change, found.changes)
    else:
        yield from _screened(found.screened)
    yield Text()
    yield from _next(found.review)


# ---- the review


def _head(review: pb.Review) -> Panel:
    state = Text(word(pb.ReviewState, review.state), style=_STATES.get(review.state, ""))
    kind = word(pb.ReviewKind, review.kind)
    lines = [Text.assemble(f"{review.id}  {kind}  ", state, f"  {review.decided} of 2 decided")]
    if review.versions:
        made = review.versions[-1]
        faults, style = (f"{review.faults} faults", "red") if review.faults else ("no fault", "green")
        told = f"version {review.version}, by {shown(made.by)} at {when(made.made_at)}  "
        lines.append(Text.assemble(told, (faults, style)))
    lines += map(_decision, review.decisions)
    if review.HasField("resolution"):
        ended, by = review.resolution, " and ".join(map(shown, review.resolution.by))
        lines.append(Text(f"resolved by {by}: {word(pb.Verdict, ended.verdict)}: {shown(ended.reason)}"))
    lines += (_round(number, over) for number, over in enumerate(review.rounds, 1))
    return Panel(Group(*lines), title=Text(shown(review.title), style="bold"), title_align="left")


def _round(number: int, over: pb.ReviewRound) -> Text:
    votes = ", ".join(f"{shown(one.reviewer)} {word(pb.Verdict, one.verdict)}" for one in over.decisions)
    return Text(f"round {number}, version {over.version}: {votes}; {shown(over.ended)}", style="dim")


def _decision(decision: pb.Decision) -> Text:
    verdict = word(pb.Verdict, decision.verdict)
    style = "green" if decision.verdict == pb.VERDICT_ACCEPT else "red"
    why = f": {shown(decision.reason)}" if decision.reason else ""
    return Text.assemble(f"{shown(decision.reviewer)} says ", (verdict, style), why)


def _next(review: pb.Review) -> Iterator[Text]:
    """What can be done now, to be copied."""
    command = f"firetrial papers review {review.id}"
    version = f" --version {review.version}" if review.versions else ""
    if review.state == pb.REVIEW_STATE_OPEN:
        yield Text(f"{command} --accept{version} | --reject{version} --reason …", style="dim")
    elif review.state == pb.REVIEW_STATE_DISPUTED:
        yield Text(f"{command} --resolve accept|reject --by NAME --reason …{version}", style="dim")
    else:
        yield Text(f"{command} --reopen --reason …", style="dim")
    if review.versions and review.state in {pb.REVIEW_STATE_OPEN, pb.REVIEW_STATE_DISPUTED}:
        yield Text(f"firetrial papers edit {review.id}{version} --node PATH", style="dim")
    if review.versions and review.state == pb.REVIEW_STATE_ACCEPTED:
        yield Text(f"firetrial papers make-task {review.id}{version} --leaf PATH", style="dim")


# ---- a tree


def _by_node(faults: Iterable[pb.TreeFault]) -> Mapping[str, list[pb.TreeFault]]:
    """Faults by the path that their field begins with."""
    found: defaultdict[str, list[pb.TreeFault]] = defaultdict(list)
    for fault in faults:
        steps = fault.field.split(".")
        path = ".".join(step for step in steps if step.isdigit())
        found[path].append(fault)
    return found


def _tree(node: Node, faults: Mapping[str, list[pb.TreeFault]], under: Tree | None = None) -> Tree:
    label = Group(_title(node), _told(node), *map(_fault, faults.get(node.path, ())))
    here = under.add(label) if under is not None else Tree(label, guide_style="dim")
    for child in node.children:
        _tree(child, faults, here)
    return here


def _title(node: Node) -> Text:
    text = Text.assemble((f"{node.path}  ", "cyan"))
    if node.evidence and not node.title.startswith(node.evidence):
        text.append(f"{shown(node.evidence)}: ", style="cyan")
    text.append(shown(node.title), style="bold")
    if node.page:
        text.append(f"  p. {node.page}", style="dim")
    if node.uncertain:
        text.append("  [uncertain]", style="yellow")
    return text


def _told(node: Node) -> Table:
    """What a node states, and under it the words of the paper that it rests on."""
    named = [
        ("about", node.description if node.kind != NODE_KIND_LEAF else ""),
        ("task", node.task),
        ("data", ", ".join(node.datasets)),
        ("models", ", ".join(node.models)),
        ("metrics", ", ".join(node.metrics)),
        ("protocol", node.protocol),
        ("finding", node.conclusion),
    ]
    grid = _named((name, Text(shown(told))) for name, told in named if told)
    for quote in node.quotes:
        grid.add_row("", _quote(quote))
    return grid


def _named(rows: Iterable[tuple[str, Text]], width: int = 9) -> Table:
    """Names and texts side by side; a text that is wrapped stays beside its name."""
    grid = Table.grid()
    grid.add_column(width=width, style="dim")
    grid.add_column()
    for name, text in rows:
        grid.add_row(name, text)
    return grid


def _quote(quote: Quote) -> Text:
    if not quote.page:
        where = ("  not found in the paper", "red")
    elif quote.score < _EXACT:
        where = (f"  p. {quote.page}, nearly so ({quote.score:.2f})", "yellow")
    else:
        where = (f"  p. {quote.page}", "dim")
    return Text.assemble((f"“{shown(quote.text)}”", "italic"), where)


def _fault(fault: pb.TreeFault) -> Text:
    value = f" is “{shown(fault.value)}”" if fault.value else ""
    return Text(f"✗ {shown(fault.field)}{value}: {shown(fault.cure)}", style="red")


def _change(change: pb.TreeChange) -> Text:
    return Text.assemble(
        (f"{change.path} {change.field}  ", "cyan"),
        (shown(change.before), "red strike"),
        " → ",
        (shown(change.after), "green"),
    )


# ---- a screened paper


def _screened(paper: screening_pb2.ScreenedPaper) -> Iterator[RenderableType]:
    item, found = paper.item, paper.contribution
    hits = ", ".join(f"{hit.rule} “{shown(hit.text)}” ({hit.where})" for hit in paper.hits)
    kind = word(screening_pb2.ContributionKind, found.kind)
    method = f"{kind}{' (close)' if found.close else ''}, by {shown(found.method)}"
    rows = [
        ("item", item.id),
        ("url", item.url),
        ("published", item.published),
        ("abstract", item.abstract),
        ("keywords", hits),
        ("contribution", f"{method}: {found.reason}"),
    ]
    yield _named(((name, Text(shown(told))) for name, told in rows if told), width=14)
    for verdict in paper.criteria:
        yield Text()
        yield from _verdict(verdict)


def _verdict(verdict: screening_pb2.CriterionVerdict) -> Iterator[RenderableType]:
    name = word(screening_pb2.Criterion, verdict.criterion).replace("_", " ")
    met = (word(screening_pb2.Met, verdict.met), _MET.get(verdict.met, ""))
    yield Text.assemble((name, "bold"), ": ", met, (f"  by {shown(verdict.method)}", "dim"))
    for reason in verdict.reasons:
        yield Padding(Text(f"- {shown(reason.text)}"), (0, 0, 0, 2))
        if reason.HasField("quote"):
            yield Padding(_quote(reason.quote), (0, 0, 0, 4))
