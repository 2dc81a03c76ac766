"""What the judging of one experiment may cost; the kit's spending tells how the account is kept."""

from __future__ import annotations

from firetrial_kit import spending
from firetrial_kit.clock import Clock
from firetrial_kit.records import Records
from firetrial_kit.spending import Account, Terms

TERMS = Terms("the judging", "plan.judge.max_cost_usd", "FIRETRIAL_JUDGE_PRICES")


class Purses(spending.Purses):
    """The accounts, one an experiment."""

    def __init__(self, accounts: Records[Account], clock: Clock) -> None:
        super().__init__(accounts, clock, TERMS)
