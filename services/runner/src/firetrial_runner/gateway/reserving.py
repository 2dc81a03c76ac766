"""How much room a call gets within what its run and its experiment may still spend."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from firetrial_runner.gateway.ask import Ask
from firetrial_runner.gateway.budget import Budget, Hold, OverBudgetError
from firetrial_runner.gateway.exchange import Tokens
from firetrial_runner.gateway.faults import Kind, Refusal
from firetrial_runner.gateway.prices import Prices
from firetrial_runner.gateway.wallet import Wallet

_WRITTEN = 32_768
"""Tokens that an answer may have where the agent sets no limit but a cap has to be kept."""
_LEAST = 16
"""Tokens that an answer must have room for, to be worth asking for."""


@dataclass(slots=True)
class Reserved:
    """What is set aside for a call; settled or released once."""

    budget: Budget
    hold: Hold
    purse: Wallet | None
    held: str = ""

    async def settle(self, tokens: Tokens | None, usd: float | None) -> None:
        """It came to this; where that is unknown, to what was set aside."""
        spent = self.hold.usd if usd is None else usd
        self.budget.settle(self.hold, tokens or Tokens(self.hold.tokens), spent)
        if self.purse is not None:
            await self.purse.settle(self.held, spent)

    async def release(self) -> None:
        """It came to nothing."""
        self.budget.release(self.hold)
        if self.purse is not None:
            await self.purse.settle(self.held, 0.0)


@dataclass(frozen=True, slots=True)
class Reserving:
    """One run's. `purse` holds its experiment's and its tenant's, where either has a cap."""

    budget: Budget
    purse: Wallet | None
    prices: Prices
    refuse_unpriced: bool

    async def reserve(self, ask: Ask) -> Reserved:
        """Set aside what the call may come to, and hold its answer to that where a cap is near.

        Raises Refusal: BUDGET where no room is left, PRICE where a cap in USD meets an unknown price.
        """
        per_token = self._price(ask)
        most = ask.endpoint.most(ask.body)
        if not (self.budget.caps_size or self.purse):
            return await self._set_aside(Hold(ask.model, ask.prompt + ask.choices * (most or 0), 0.0))
        wanted = _WRITTEN if most is None else most
        least = min(wanted, _LEAST)
        room = max(least, min(wanted, self._room(ask, per_token)))
        held = ""
        if self.purse is not None:
            room, held = await self._from_purse(ask, per_token, least, room)
        if room != most and wanted:
            ask.endpoint.limit(ask.body, room, ask.upstream.limit_field)
        tokens = ask.prompt + ask.choices * room
        return await self._set_aside(Hold(ask.model, tokens, self._usd(ask, room)), held)

    def cost(self, ask: Ask, tokens: Tokens) -> float | None:
        """USD; None where the price is unknown."""
        if not ask.endpoint.paid:
            return 0.0
        return self.prices.cost(ask.model, ask.upstream.provider, ask.upstream.url, tokens)

    def _price(self, ask: Ask) -> float:
        """USD for each token of each answer; 0 where nothing needs it."""
        capped = self.budget.caps_usd or self.purse is not None
        if not (capped or self.refuse_unpriced):
            return 0.0
        whole, none = (self.cost(ask, Tokens(ask.prompt, written)) for written in (1000, 0))
        if whole is None or none is None:
            why = "a cap in USD cannot be kept blindly" if capped else "the gateway's settings refuse that"
            raise Refusal(Kind.PRICE, f"the price of {ask.model} is unknown, and {why}")
        return (whole - none) / 1000

    def _usd(self, ask: Ask, written: int) -> float:
        """What so many tokens in each answer may cost in all; 0 where the price is unknown."""
        if not (self.budget.caps_usd or self.purse):
            return 0.0
        return self.cost(ask, Tokens(ask.prompt, ask.choices * written)) or 0.0

    def _room(self, ask: Ask, per_token: float) -> int:
        """Tokens that each answer may have, within what settled calls have left over."""
        tokens, usd = self.budget.tokens_left(), self.budget.usd_left()
        rooms = [] if tokens is None else [(tokens - ask.prompt) // ask.choices]
        if usd is not None and per_token > 0:
            rooms.append(int((usd - self._usd(ask, 0)) / per_token / ask.choices))
        return min(rooms, default=_WRITTEN * 1000)

    async def _from_purse(self, ask: Ask, per_token: float, least: int, room: int) -> tuple[int, str]:
        """(tokens that each answer may have, the hold's name)."""
        assert self.purse is not None  # noqa: S101 -- asked by the caller
        try:
            held, usd = await self.purse.reserve(self._usd(ask, least), self._usd(ask, room))
        except OverBudgetError as error:
            raise Refusal(Kind.BUDGET, str(error), error.budget) from error
        if per_token > 0:
            room = min(room, max(least, int((usd - self._usd(ask, 0)) / per_token / ask.choices)))
        return room, held

    async def _set_aside(self, hold: Hold, held: str = "") -> Reserved:
        reserved = Reserved(self.budget, hold, self.purse if held else None, held)
        try:
            await self.budget.reserve(hold)
        except BaseException as error:
            if held and self.purse is not None:
                await asyncio.shield(self.purse.settle(held, 0.0))
            if isinstance(error, OverBudgetError):
                raise Refusal(Kind.BUDGET, str(error)) from error
            raise
        return reserved
