"""What a point of score costs, and which agents nobody beats on cost and score both."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from firetrial_analyzer.cost import AgentCost
from firetrial_analyzer.scores import AgentScore


@dataclass(frozen=True, slots=True)
class Offer:
    """An agent's mean score in [0, 1] and its mean cost of a run in USD. None is unknown, which is not 0.

    `priced` of the agent's runs have a known price; the cost is the mean over those.
    """

    agent: str
    score: float | None
    usd: float | None
    priced: int
    unpriced: int


class Place(StrEnum):
    """FRONT: nobody is as good for less or better for as much. UNKNOWN: score or price is not known."""

    FRONT = "FRONT"
    DOMINATED = "DOMINATED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Placed:
    """`beaten_by` names the agents that are at least as good on both and better on one, cheapest first.

    `usd_per_point` is USD a run for each of 100 points of score; None where it is unknown or the score is 0.
    """

    offer: Offer
    place: Place
    beaten_by: tuple[str, ...]
    usd_per_point: float | None


@dataclass(frozen=True, slots=True)
class Front:
    """Agents by rising cost, those without a known cost last; `unknown` counts agents that have no place."""

    agents: tuple[Placed, ...]
    unknown: int

    @property
    def line(self) -> tuple[Offer, ...]:
        """The front, by rising cost and so by rising score."""
        return tuple(placed.offer for placed in self.agents if placed.place is Place.FRONT)


def offers(scores: Sequence[AgentScore], costs: Sequence[AgentCost]) -> tuple[Offer, ...]:
    """Mean score and mean USD over the runs that enter the mean, one for each agent that has a score."""
    usd = {cost.agent: cost.per_run.usd for cost in costs}
    return tuple(
        Offer(score.agent, score.main.mean, None, 0, score.main.counted)
        if (price := usd.get(score.agent)) is None
        else Offer(score.agent, score.main.mean, price.mean, price.counted, price.total - price.counted)
        for score in scores
    )


def front(given: Sequence[Offer]) -> Front:
    """Places every offer; equal offers share a place."""
    placed = tuple(_placed(offer, given) for offer in sorted(given, key=_order))
    return Front(placed, sum(item.place is Place.UNKNOWN for item in placed))


def usd_per_point(offer: Offer) -> float | None:
    """USD for each of the 100 points of score that a run brings."""
    return None if offer.usd is None or not offer.score else offer.usd / (100 * offer.score)


def _placed(offer: Offer, others: Sequence[Offer]) -> Placed:
    if offer.score is None or offer.usd is None:
        return Placed(offer, Place.UNKNOWN, (), None)
    better = sorted((other for other in others if _beats(other, offer)), key=_order)
    place = Place.DOMINATED if better else Place.FRONT
    return Placed(offer, place, tuple(other.agent for other in better), usd_per_point(offer))


def _beats(one: Offer, other: Offer) -> bool:
    if one.score is None or one.usd is None or other.score is None or other.usd is None:
        return False
    as_good = one.score >= other.score and one.usd <= other.usd
    return as_good and (one.score, one.usd) != (other.score, other.usd)


def _order(offer: Offer) -> tuple[bool, float, float, str]:
    return (offer.usd is None, offer.usd or 0.0, -(offer.score or 0.0), offer.agent)
