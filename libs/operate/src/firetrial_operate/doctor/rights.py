"""What a service's user of the broker may do, and what it must not: tried, and without a trace."""

from __future__ import annotations

from firetrial_kit.jetstream import DOWN
from firetrial_operate import contracts
from firetrial_operate.doctor.checks import BrokenError, Told
from firetrial_operate.doctor.installation import SERVICES, Who
from firetrial_operate.doctor.sights import Sights

_KEY = "firetrial-doctor"
_CURE = "give each user the rights of deploy/nats/nats.conf, and no others"


async def look(sights: Sights, who: Who) -> Told:
    """Every fact of the contracts, state, and what only an operator may do. Raises BrokenError."""
    connection = sights.connections[who.name]
    must, never = allowed(who.name), forbidden(who.name)
    try:
        refused = set(await connection.attempt([*must, *never]))
        others = [f"_INBOX_{name}.>" for name in SERVICES if name != who.name]
        heard = [subject for subject in others if await connection.listens(subject)]
    except DOWN as error:
        raise BrokenError(f"the broker went away: {error}", "see the broker's log") from None
    lacks = [subject for subject in must if subject in refused]
    has = [*(subject for subject in never if subject not in refused), *heard]
    problems = [f"may not publish {_some(lacks)}"] if lacks else []
    problems += [f"may do what it must not: {_some(has)}"] if has else []
    if problems:
        raise BrokenError("; ".join(problems), _CURE)
    count = len(never) + len(others)
    return Told(f"may do {len(must)} things that it must, and none of {count} that it must not")


def allowed(service: str) -> list[str]:
    """Subjects that the service publishes on."""
    facts = [_fact(teller, name) for teller, name in contracts.facts() if teller == service]
    work = [f"ft.work.{kind}.{_KEY}" for teller, kind in contracts.works() if teller == service]
    state = [f"$KV.ft_{service}.{_KEY}", f"$JS.API.STREAM.MSG.GET.KV_ft_{service}"]
    return [*sorted(facts), *sorted(work), *state]


def forbidden(service: str) -> list[str]:
    """Subjects that others alone publish on, and what makes, changes or reads what is not the service's."""
    facts = [_fact(teller, name) for teller, name in contracts.facts() if teller not in (service, "*")]
    asks = {kind for teller, kind in contracts.works() if teller == service}
    work = [f"ft.work.{kind}.{_KEY}" for kind in sorted({kind for _, kind in contracts.works()} - asks)]
    others = [name for name in SERVICES if name != service]
    state = [f"$KV.ft_{name}.{_KEY}" for name in others]
    state += [f"$JS.API.STREAM.MSG.GET.KV_ft_{name}" for name in others]
    # Who may change a stream may empty it; that is not tried.
    changes = [f"$JS.API.STREAM.{verb}.FT_EVT" for verb in ("CREATE", "UPDATE")]
    return [*sorted(facts), *sorted(work), *state, *changes]


def _fact(teller: str, name: str) -> str:
    return f"ft.evt.{teller}.v1.{name}.{_KEY}"


def _some(subjects: list[str]) -> str:
    more = len(subjects) - 3
    return ", ".join(subjects[:3]) + (f" and {more} more" if more > 0 else "")
