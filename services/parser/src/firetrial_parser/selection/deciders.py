"""Who decides for a batch, and who pays: words alone, or the model of the settings within the batch's cap."""

from __future__ import annotations

from firetrial_kit.asking import Meter
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.spending import Purses, Terms
from firetrial_parser.asking import Asker
from firetrial_parser.selection.deciding import Deciding, ModelDeciding, OfflineDeciding
from firetrial_parser.selection.keywords import Keywords

TERMS = Terms("the screening", "max_cost_usd", "FIRETRIAL_PARSER_PRICES")


class Deciders:
    """`asker` is None where no model is set up; `purses` hold the accounts of batches."""

    def __init__(self, purses: Purses, asker: Asker | None = None) -> None:
        self.keywords = Keywords()
        self._purses = purses
        self._asker = asker
        self._offline = OfflineDeciding()

    @property
    def model(self) -> str:
        """The model of the settings, or ""."""
        return self._asker.model if self._asker else ""

    def of(self, model: str) -> Deciding:
        """Who decides where `model` is wanted, "" for words alone. Raises PRECONDITION for another model."""
        if not model:
            return self._offline
        if self._asker is None or model != self.model:
            fault = Fault("model", model, f"the parser asks {self.model or 'no model'} now: submit it again")
            raise FiretrialError(Reason.PRECONDITION, str(fault), faults=[fault])
        return ModelDeciding(self._asker)

    def rules(self, deciding: Deciding) -> tuple[str, ...]:
        """Versions of all that decides."""
        return (self.keywords.version, *deciding.versions)

    def meter(self, account: str, model: str, cap: float | None) -> Meter | None:
        """What pays for a batch; None without a cap or a model. Raises PRECONDITION without a price."""
        if cap is None or self._asker is None or not model:
            return None
        return self._purses.of(account, cap).meter(self._asker.model, self._asker.price)
