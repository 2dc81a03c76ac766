"""How many runs there are and what they may cost, as far as they have not ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from firetrial_runner.records import Books, RunRecord


@dataclass(frozen=True, slots=True)
class Census:
    """Runs by (pool, state); USD are sums over the experiments of these runs that have a cap."""

    runs: Mapping[tuple[str, str], int]
    budget_usd: float
    spent_usd: float


async def take(books: Books, records: Iterable[RunRecord], cap_of: Callable[[str], float | None]) -> Census:
    """Count the runs of these records, none of which has ended; `cap_of` reads a slip's cap in USD."""
    runs: Counter[tuple[str, str]] = Counter()
    caps: dict[str, float] = {}
    for record in records:
        runs[record.run.pool, str(record.run.state)] += 1
        experiment = record.run.experiment_id
        if experiment and experiment not in caps and (cap := cap_of(record.slip)) is not None:
            caps[experiment] = cap
    accounts = [await books.accounts.find(experiment) for experiment in caps]
    spent = sum(account.spent for account in accounts if account is not None)
    return Census(runs, sum(caps.values()), spent)
