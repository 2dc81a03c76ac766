"""`firetrial papers queue` and what people do with it: review, edit, revalidate, agreement, make-task."""

from __future__ import annotations

import getpass
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from firetrial.parser.v1 import review_pb2 as pb
from firetrial.parser.v1.paper_pb2 import Node
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, plain, show_json, word
from firetrial_client.cli.screening import shown
from firetrial_client.errors import Fault, invalid

KINDS = click.Choice(["tree", "screened"])
STATES = ("open", "disputed", "accepted", "rejected")
_WAITING = ("open", "disputed")
_WIDTH = 100  # where there is no terminal
# What `edit --node` shows; the same names as `--set` takes.
FIELDS = (
    "title", "description", "task", "evidence", "page", "datasets", "models", "metrics", "protocol",
    "conclusion", "uncertain", "quotes",
)  # fmt: skip
_LISTS = frozenset({"datasets", "models", "metrics", "quotes"})


def _reviewer(default: str | None) -> str:
    return default or getpass.getuser()


@click.command("queue")
@click.option("--kind", type=KINDS, default=None, help="Trees or screened papers; default: both.")
@click.option("--state", multiple=True, type=click.Choice(STATES), help="Default: open and disputed.")
@click.option("--all", "all_", is_flag=True, help="Those that are decided, too.")
@click.option("--reviewer", help="Who asks. Default: the user of this machine.")
@answering
def queue(app: App, kind: str | None, state: tuple[str, ...], *, all_: bool, reviewer: str | None) -> None:
    """What waits for review. Of an open review nobody's decision is shown but your own."""
    states = () if all_ else state or _WAITING
    with app.client() as client:
        found = list(client.list_reviews(kind=kind or "", states=states, reviewer=_reviewer(reviewer)))
    if app.json:
        show_json(found)
        return
    columns(
        ("REVIEW", "KIND", "STATE", "DECIDED", "VERSION", "FAULTS", "YOU SAID", "TITLE"),
        map(_waiting(_reviewer(reviewer)), found),
    )


def _waiting(reviewer: str) -> Any:
    def line(one: pb.Review) -> tuple[object, ...]:
        mine = [d for d in one.decisions if d.reviewer.casefold() == reviewer.casefold()]
        said = word(pb.Verdict, mine[0].verdict) if mine else ""
        state, kind = word(pb.ReviewState, one.state), word(pb.ReviewKind, one.kind)
        tree = one.kind == pb.REVIEW_KIND_TREE
        version, faults = (one.version, one.faults) if tree else ("", "")
        return one.id, kind, state, f"{one.decided}/2", version, faults, said, shown(one.title)

    return line


@click.command("review")
@click.argument("review")
@click.option("--accept", is_flag=True, help="It is right: decide so.")
@click.option("--reject", is_flag=True, help="It is not; needs --reason.")
@click.option("--resolve", type=click.Choice(["accept", "reject"]), help="End a disagreement.")
@click.option("--by", multiple=True, metavar="NAME", help="Who ends it: a third person, or both. Repeatable.")
@click.option("--reopen", is_flag=True, help="Begin anew what was decided; needs --reason.")
@click.option("--reason", default="", help="Why, for others to read.")
@click.option("--version", type=click.IntRange(min=0), help="The version looked at; default: 1 to decide.")
@click.option("--reviewer", help="Who you are. Default: the user of this machine.")
@answering
def review(
    app: App,
    review: str,
    *,
    accept: bool,
    reject: bool,
    resolve: str | None,
    by: tuple[str, ...],
    reopen: bool,
    reason: str,
    version: int | None,
    reviewer: str | None,
) -> None:
    """Read REVIEW and decide on it: two people alone; a third, or both together, end a disagreement."""
    if accept + reject + bool(resolve) + reopen > 1:
        raise click.UsageError("give one of --accept, --reject, --resolve and --reopen")
    if by and not resolve:
        raise click.UsageError("--by goes with --resolve; to say who you are, use --reviewer")
    who, at = _reviewer(reviewer), 1 if version is None else version
    with app.client() as client:
        if accept or reject:
            verdict = "accept" if accept else "reject"
            done = client.decide_review(review, reviewer=who, verdict=verdict, version=at, reason=reason)
        elif resolve:
            ended_by = by or (who,)
            done = client.resolve_review(review, by=ended_by, verdict=resolve, reason=reason, version=at)
        elif reopen:
            done = client.reopen_review(review, reviewer=who, reason=reason)
        else:
            _view(app, client.get_review(review, reviewer=who, version=version or 0))
            return
    show_json(done) if app.json else _said(done)


def _view(app: App, found: pb.GetReviewResponse) -> None:
    if app.json:
        show_json(found)
        return
    from firetrial_client.cli.review_view import rendered  # noqa: PLC0415 - rich takes its time

    terminal = sys.stdout.isatty()
    size = shutil.get_terminal_size((_WIDTH, 50))
    text = rendered(found, width=size.columns if terminal else _WIDTH, colour=terminal)
    if terminal and text.count("\n") > size.lines:
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=False)


def _said(done: pb.Review) -> None:
    state = word(pb.ReviewState, done.state)
    click.echo(f"{done.id}: {state}, {done.decided} of 2 decided")
    if done.state == pb.REVIEW_STATE_DISPUTED:
        for one in done.decisions:
            why = f": {shown(one.reason)}" if one.reason else ""
            click.echo(f"  {shown(one.reviewer)} {word(pb.Verdict, one.verdict)}{why}")


@click.command("edit")
@click.argument("review")
@click.option("--version", type=click.IntRange(min=1), required=True, help="The version that you edit.")
@click.option(
    "--set",
    "puts",
    nargs=3,
    multiple=True,
    metavar="PATH FIELD VALUE",
    help="A field of a node; for lists once for each value. Repeatable.",
)
@click.option("--clear", "clears", nargs=2, multiple=True, metavar="PATH FIELD", help="Empty a list.")
@click.option("--remove", multiple=True, metavar="PATH", help="Take a node out, with all below it.")
@click.option("--node", metavar="PATH", help="Edit a node in your editor.")
@click.option("--reviewer", help="Who you are. Default: the user of this machine.")
@answering
def edit(
    app: App,
    review: str,
    *,
    version: int,
    puts: tuple[tuple[str, str, str], ...],
    clears: tuple[tuple[str, str], ...],
    remove: tuple[str, ...],
    node: str | None,
    reviewer: str | None,
) -> None:
    """Make a new version of the tree of REVIEW; decisions on older ones count no more."""
    edits = [*_puts(puts, clears), *(pb.TreeEdit(path=path, remove=True) for path in remove)]
    if bool(node) == bool(edits):
        raise click.UsageError("give either --node PATH, or --set, --clear and --remove")
    with app.client() as client:
        if node:
            tree = client.get_review(review, version=version).tree
            edits = list(_edited(_at(tree, node)))
            if not edits:
                raise click.ClickException("nothing was changed")
        done = client.edit_tree(review, edits, reviewer=_reviewer(reviewer), version=version)
    if app.json:
        show_json(done)
        return
    click.echo(f"{done.review.id}: version {done.review.version}, {len(done.changes)} changes")
    columns(("NODE", "FIELD", "NOW"), ((c.path, c.field, shown(c.after)) for c in done.changes))
    _faults(done.faults)


def _puts(puts: Iterable[tuple[str, str, str]], clears: Iterable[tuple[str, str]]) -> Iterator[pb.TreeEdit]:
    """One edit a field: the values of a list together, in their order."""
    values: dict[tuple[str, str], list[str]] = {}
    for path, field in clears:
        values[path, field] = []
    for path, field, value in puts:
        values.setdefault((path, field), []).append(value)
    for (path, field), given in values.items():
        yield _put(path, field, given)


def _put(path: str, field: str, values: list[str]) -> pb.TreeEdit:
    return pb.TreeEdit(path=path, set=pb.TreeEdit.SetField(field=field, values=values))


def _at(node: Node, path: str) -> Node:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.path == path:
            return one
        waiting += one.children
    raise invalid("the edit", [Fault("node", f"is {path!r}: must be the path of a node of this version")])


def _edited(node: Node) -> Iterator[pb.TreeEdit]:
    """What a person changes in a node, field by field."""
    before = _fields(node)
    text = click.edit(json.dumps(before, indent=2, ensure_ascii=False), extension=".json")
    if text is None:
        return
    try:
        after = json.loads(text)
    except ValueError as error:
        raise invalid("the edit", [Fault("node", f"is no JSON any more ({error}): edit it again")]) from None
    if not isinstance(after, dict) or set(after) != set(before):
        raise invalid("the edit", [Fault("node", f"must have the fields {', '.join(before)}, and no other")])
    for name, value in after.items():
        if value != before[name]:
            values = value if isinstance(value, list) else [value]
            yield _put(node.path, name, [_text(one) for one in values])


def _fields(node: Node) -> dict[str, Any]:
    told = plain(node)
    return {
        name: [quote.text for quote in node.quotes] if name == "quotes" else told[name] for name in FIELDS
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@click.command("revalidate")
@click.argument("review")
@click.option("--version", type=click.IntRange(min=0), default=0, help="Default: the latest.")
@answering
def revalidate(app: App, review: str, version: int) -> None:
    """Hold the tree of REVIEW against its paper again."""
    with app.client() as client:
        done = client.revalidate_tree(review, version)
    show_json(done) if app.json else _faults(done.faults)


def _faults(faults: Iterable[pb.TreeFault]) -> None:
    found = [(fault.field, shown(fault.value), shown(fault.cure)) for fault in faults]
    if found:
        columns(("FAULT", "FOUND", "CURE"), found)
    else:
        click.echo("no fault found in the tree")


@click.command("agreement")
@click.option("--kind", type=KINDS, default=None, help="Trees or screened papers; default: both.")
@answering
def agreement(app: App, kind: str | None) -> None:
    """How far two people agree, over the rounds that both decided."""
    with app.client() as client:
        found = client.get_review_agreement(kind or "")
    if app.json:
        show_json(found)
        return
    headers = ("WHO", "ROUNDS", "SAME", "SHARE (95 %)", "KAPPA (95 %)", "RESOLVED", "DISPUTED")
    columns(headers, map(_agreed, [found.overall, *found.pairs]))


def _agreed(one: pb.ReviewAgreement) -> tuple[object, ...]:
    same = one.both_accept + one.both_reject
    rounds = same + one.first_accepts + one.second_accepts
    who = f"{shown(one.first)}, {shown(one.second)}" if one.first else "all, first and second"
    share = _interval(one, "raw", 100, "%.0f%%")
    return who, rounds, same, share, _interval(one, "kappa", 1, "%.2f"), one.resolved, one.disputed


def _interval(one: pb.ReviewAgreement, name: str, times: float, form: str) -> str:
    """A value and its bounds; "" where it is undefined."""
    if not one.HasField(name):  # type: ignore[arg-type]
        return ""
    value, low, high = (times * getattr(one, part) for part in (name, f"{name}_low", f"{name}_high"))
    return f"{form % value} ({form % low} to {form % high})"


@click.command("make-task")
@click.argument("review")
@click.option("--leaf", default="", metavar="PATH", help="The leaf that is the answer; default: the best.")
@click.option("--version", type=click.IntRange(min=0), default=0, help="The accepted version; default: it.")
@answering
def make_task(app: App, review: str, leaf: str, version: int) -> None:
    """Make a task of a leaf of the accepted tree of REVIEW."""
    with app.client() as client:
        made = client.make_reviewed_task(review, version=version, leaf_path=leaf)
    show_json(made) if app.json else click.echo(made.task.id)


commands: list[click.Command] = [queue, review, edit, revalidate, agreement, make_task]
